// The frame around the pages: header, navigation, theme, keyboard.

import { announce, badge, button, h, hideTooltip, plain, problem, replace, select } from "./dom.js";
import { shortName } from "./bytes.js";
import { getJson, isReport } from "./data.js";
import { currentView, keepInAddress, link, navigate, setNavigator, twinOf } from "./router.js";
import { forgetColours } from "./colour.js";
import { homePage } from "./home.js";
import { databasePage, noTables } from "./database.js";
import { tablePage } from "./table.js";
import { filterPage } from "./filter.js";
import { lookupPage } from "./lookup.js";
import { scanPage } from "./scan.js";
import { healthPage } from "./health.js";

const PAGES = {
  database: { title: "Database", show: databasePage, of: ["database"] },
  table: { title: "Table", show: tablePage, of: ["table", "database"] },
  filter: { title: "Filter", show: filterPage, of: ["table", "database"] },
  lookup: { title: "Lookup", show: lookupPage, of: ["table", "database"] },
  scan: { title: "Scan", show: scanPage, of: ["table", "database"] },
  health: { title: "Health", show: healthPage, of: ["table", "database"] },
};

let index = null;
let abort = null;
let turn = 0;
// The table that was looked at last: the pages of a table need one.
const lastFile = new Map();

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  forgetColours();
  window.dispatchEvent(new Event("resize"));
}

function toggleTheme() {
  const isDark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  setTheme(isDark ? "light" : "dark");
  try {
    localStorage.setItem("theme", isDark ? "light" : "dark");
  } catch {
    // A report opened from a file may not store anything.
  }
  // The header is made again, and with it the button.
  render().then(() => document.querySelector("#header [data-action=theme]")?.focus());
}

// The last part of a path, or the last two if several sources have the same one.
function nameOf(file) {
  const isUnique = index.sources.filter((it) => shortName(it.file) === shortName(file)).length === 1;
  return isUnique ? shortName(file) : file.split("/").filter(Boolean).slice(-2).join("/");
}

function showHeader(source, page, view) {
  const info = index.sources[source];
  // A lookup needs a server.
  const tabs = info ? Object.entries(PAGES).filter(([name, it]) => it.of.includes(info.kind) && !(isReport() && name === "lookup")) : [];
  const paramsOf = (name) => {
    const isOfTable = info?.kind === "database" && ["table", "filter"].includes(name);
    return (isOfTable && lastFile.get(source)) || { cf: view.params.cf };
  };
  replace(document.getElementById("header"),
    link("/", {}, { class: "brand", "aria-label": "sst inspector, all sources" }, h("span", { class: "logo", "aria-hidden": "true" }), h("span", {}, "sst inspector")),
    index.sources.length > 1 && info && select("Source", index.sources.map((it, at) => [String(at), nameOf(it.file)]), String(source),
      (to) => navigate(`/${to}/${index.sources[to].kind === "failed" ? "table" : index.sources[to].kind}`)),
    h("nav", { "aria-label": "Pages" }, tabs.map(([name, it]) => link(`/${source}/${name}`, paramsOf(name),
      { class: "tab", "aria-current": name === page ? "page" : undefined }, it.title))),
    info && info.kind !== "failed" && !isReport() && h("form", { class: "quick", role: "search", onsubmit: (event) => {
      event.preventDefault();
      const { value } = event.target.elements.key;
      // Nothing typed is no key; the page takes the empty one.
      navigate(`/${source}/lookup`, { cf: view.params.cf, key: value === "" ? undefined : value });
    } }, h("input", { name: "key", type: "search", class: "key-input", "aria-label": "Look up a key", placeholder: "Look up a key ( / )", autocomplete: "off", spellcheck: "false" })),
    isReport() ? badge("report") : h("a", { class: "twin", href: twinOf(view), "aria-label": "This page as JSON" }, "JSON"),
    button("?", () => document.getElementById("help").showModal(), { class: "theme", "aria-label": "Keys and gestures", title: "Keys and gestures ( ? )" }),
    button("◐", toggleTheme, { class: "theme", "data-action": "theme", "aria-label": "Switch between light and dark", title: "Light or dark" }));
}

// What the keyboard and the mouse do.
const GESTURES = [
  ["/", "look up a key"],
  ["1 to 6", "the pages, in the order of the header"],
  ["Tab", "the next control or map"],
  ["+  −", "in a map: zoom in and out; so does the wheel after a click on the map"],
  ["←  →", "in a map: move; so does dragging"],
  ["0", "in a map: show everything"],
  ["[  ]", "in the map of levels: along the keys, with the runs at each"],
  [",  .", "in a map: the previous and next file, block or filter; in bytes: the previous and next field"],
  ["Enter", "in a map: open the selected file; so does a double click"],
  ["?", "this list"],
];

function addHelp() {
  const dialog = h("dialog", { id: "help", class: "card", "aria-label": "Keys and gestures" },
    h("h2", {}, "Keys and gestures"),
    h("dl", { class: "gestures" }, GESTURES.map(([keys, what]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, what)])),
    h("p", { class: "muted" }, "The address is the view: it can be shared. Its JSON has .json after the path."),
    button("Close", () => dialog.close(), { class: "primary" }));
  document.body.append(dialog);
}

async function render() {
  abort?.abort();
  abort = new AbortController();
  turn += 1;
  const mine = turn;
  const isCurrent = () => mine === turn;
  hideTooltip();
  const view = currentView();
  const main = document.getElementById("main");
  const [, number, page] = view.path.split("/");
  const source = Number(number);
  const info = index.sources[source];
  const isHome = view.path === "/" || view.path === "/index";
  if (isHome && index.sources.length === 1 && index.sources[0].kind !== "failed") {
    history.replaceState(null, "", isReport() ? `#/0/${index.sources[0].kind}` : `/0/${index.sources[0].kind}`);
    return render();
  }
  if (view.params.file !== undefined && info) lastFile.set(source, { cf: view.params.cf, file: view.params.file });
  // Tables know their column family, the default one as undefined. An address without it gets it.
  const adoptFamily = (name) => {
    const cf = name === null || name === "default" ? undefined : name;
    if (info.kind === "database" && view.params.cf !== cf) {
      keepInAddress({ cf });
      const now = currentView();
      lastFile.set(source, { cf, file: now.params.file });
      showHeader(source, page, now);
    }
    return cf;
  };
  showHeader(isHome ? undefined : source, page, view);
  const root = h("div", { class: "page", "data-page": isHome ? "home" : page });
  const isPage = Object.hasOwn(PAGES, page ?? "");
  const title = isHome ? "Sources" : isPage ? PAGES[page].title : undefined;
  document.title = title ? plain(`${title} · ${info ? shortName(info.file) : "sst"} · sst inspector`) : "sst inspector";
  replace(main, root);
  try {
    if (isHome) homePage({ root, index });
    else if (!info || !isPage) throw new Error("Nothing is at this address.");
    else if (info.kind === "failed") throw new Error(info.problem);
    else if (info.kind === "database" && ["table", "filter"].includes(page) && view.params.file === undefined) await chooseTable(root, source, page, view.params, abort.signal, isCurrent);
    else await PAGES[page].show({ root, source, info, index, params: view.params, signal: abort.signal, isCurrent, adoptFamily });
  } catch (error) {
    if (isCurrent() && error.name !== "AbortError") root.append(problem(error.message));
  }
  if (isCurrent() && !root.dataset.ready) root.dataset.ready = "shown";
  return undefined;
}

// The pages of a table, in a database: which table?
async function chooseTable(root, source, page, params, signal, isCurrent) {
  const map = await getJson(`/${source}/database.json`, { cf: params.cf }, signal);
  if (!isCurrent()) return;
  root.append(h("h1", {}, "Which table?"));
  if (map.levels.length === 0) root.append(h("p", { class: "muted" }, noTables(map, params.cf)));
  root.append(h("div", { class: "choose" }, map.levels.map((level) => h("section", { class: "card" },
    h("h2", {}, `Level ${level.level}`),
    h("div", { class: "file-links" }, level.files.slice(0, 500).map((file) =>
      link(`/${source}/${page}`, { cf: params.cf, file: file.number }, { class: "button" }, String(file.number).padStart(6, "0"))))))));
}

function listen() {
  setNavigator(() => {
    render().then(() => {
      // A page may have put the focus into a field.
      const main = document.getElementById("main");
      if (!main.contains(document.activeElement)) main.focus({ preventScroll: true });
    });
    window.scrollTo(0, 0);
  });
  window.addEventListener("popstate", render);
  if (isReport()) window.addEventListener("hashchange", render);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    forgetColours();
    render();
  });
  document.addEventListener("keydown", (event) => {
    const isTyping = /^(input|select|textarea)$/i.test(event.target.tagName);
    // Behind the list of keys, nothing happens.
    if (isTyping || document.getElementById("help").open || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      event.preventDefault();
      document.querySelector("#header .quick input")?.focus();
    }
    if (event.key === "?") document.getElementById("help").showModal();
    const at = Number(event.key);
    const tab = at >= 1 && document.querySelectorAll("#header .tab")[at - 1];
    if (tab && document.activeElement?.tagName !== "CANVAS") tab.click();
  });
}

// The server has made a cookie of the token: it need not stay in the address, which is shared and kept in the history.
function forgetToken() {
  if (isReport()) return;
  const url = new URL(location.href);
  if (!url.searchParams.has("token")) return;
  url.searchParams.delete("token");
  history.replaceState(null, "", `${url.pathname}${url.search}${url.hash}`);
}

async function start() {
  forgetToken();
  let theme = null;
  try {
    theme = localStorage.getItem("theme");
  } catch {
    // See above.
  }
  if (theme) setTheme(theme);
  try {
    index = await getJson("/index.json");
  } catch (error) {
    replace(document.getElementById("main"), problem(error.message));
    return;
  }
  addHelp();
  listen();
  await render();
  announce("");
}

start();
