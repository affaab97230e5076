// Keys and values in order, a page at a time and in both directions.

import { button, card, choice, h, key, problem, replace, row, select, table } from "./dom.js";
import { asJson, asNumbers, asText, counted, decodeBytes, escapeBytes, formatBytes, formatCount, fromHex, shorten, toHex } from "./bytes.js";
import { getJson, isReport } from "./data.js";
import { keepInAddress, link, navigate } from "./router.js";

const VIEWS = [["text", "Text"], ["hex", "Hex"], ["json", "JSON"], ["number", "Number"]];
const KEY_VIEWS = [["text", "Text"], ["hex", "Hex"], ["number", "Number"]];

// A value as one of the views shows it.
function show(hex, view) {
  const bytes = fromHex(hex);
  if (view === "hex") return toHex(bytes).replace(/../g, "$& ").trim();
  if (view === "json") return asJson(bytes) ?? escapeBytes(bytes);
  if (view === "number") return asNumbers(bytes).map(([name, value]) => `${value} (${name})`).join("\n") || escapeBytes(bytes);
  return asText(bytes) ?? escapeBytes(bytes);
}

// A key: as text in the form that fields and addresses take.
function showKey(hex, view) {
  return view === "text" ? escapeBytes(fromHex(hex)) : show(hex, view);
}

export async function scanPage({ root, source, info, params, signal, isCurrent }) {
  const families = info.kind === "database" ? info.column_families : [];
  // The address has the parameters of the JSON, whose keys may be in any encoding. On the way everything is
  // hexadecimal, so that all views are possible.
  const hexOf = (name) => {
    const bytes = params[name] === undefined ? undefined : decodeBytes(params[name], params.encoding);
    if (bytes === null) throw new Error(`${name} is not in the encoding ${params.encoding ?? "escape"}.`);
    return bytes === undefined ? undefined : toHex(bytes);
  };
  const found = hexOf("prefix");
  const prefix = h("input", { type: "text", id: "scan-prefix", class: "key-input", value: found ? escapeBytes(fromHex(found)) : "", autocomplete: "off", spellcheck: "false",
    placeholder: "start of the keys" });
  const of = { file: params.file, cf: params.cf };
  const state = { view: params.view ?? "text", keys: params.keys ?? "text" };
  const results = h("div", {});
  const versions = h("div", { "aria-live": "polite" });
  const go = (to) => navigate(`/${source}/scan`, { ...of, encoding: "hex", prefix: found, view: state.view, keys: state.keys === "text" ? undefined : state.keys, ...to });
  root.append(
    h("h1", {}, params.file === undefined ? "Keys and values" : `Keys and values of table ${params.file}`),
    h("form", { class: "card toolbar", onsubmit: (event) => {
      event.preventDefault();
      go({ prefix: toHex(decodeBytes(prefix.value)) });
    } },
    !isReport() && h("label", { class: "field wide", for: "scan-prefix" }, h("span", {}, "Prefix"), prefix),
    families.length > 1 && select("Column family", families.map((it) => [it, it]), params.cf ?? "default",
      (cf) => navigate(`/${source}/scan`, { cf, view: state.view })),
    !isReport() && h("button", { type: "submit", class: "primary" }, "Find"),
    h("span", { class: "field" }, h("span", {}, "Keys as"), choice("View of keys", KEY_VIEWS, state.keys, (keys) => {
      state.keys = keys;
      keepInAddress({ keys });
      draw();
    })),
    h("span", { class: "field" }, h("span", {}, "Values as"), choice("View of values", VIEWS, state.view, (view) => {
      state.view = view;
      keepInAddress({ view });
      draw();
    }))),
    card("Keys", results), versions);

  const place = { from: hexOf("from"), after: hexOf("after"), before: hexOf("before"), last: "last" in params ? "1" : undefined };
  let page;
  try {
    page = await getJson(`/${source}/scan.json`, { ...of, encoding: "hex", prefix: found, ...place }, signal);
  } catch (error) {
    if (isCurrent() && error.name !== "AbortError") replace(results, problem(error.message));
    return;
  }
  if (!isCurrent()) return;
  const showVersions = async (hex) => {
    try {
      const all = await getJson(`/${source}/versions.json`, { ...of, encoding: "hex", key: hex }, signal);
      replace(versions, versionsCard(all, { source, cf: params.cf, view: state.view, isTable: info.kind === "table" || params.file !== undefined }));
      versions.scrollIntoView({ block: "nearest" });
    } catch (error) {
      if (error.name !== "AbortError") replace(versions, problem(error.message));
    }
  };
  const draw = () => {
    const hasTimestamps = page.rows.some((it) => it.timestamp !== undefined);
    const rows = page.rows.map((it) => row(
      it.key_length === undefined ? key(showKey(it.key, state.keys))
        : [key(`${showKey(it.key, state.keys)}…`), h("p", { class: "muted" }, `the start of a key of ${formatBytes(it.key_length)}`)],
      ...(hasTimestamps ? [h("span", { class: "timestamp" }, showTimestamp(it.timestamp))] : []),
      it.value === null
        ? h("span", { class: "muted" }, it.merge ? `${counted(it.merge.length, "operand")}, unmerged` : "unresolved")
        : it.columns ? columnsView(it.columns, state.view)
          : h("pre", { class: "value", dir: "ltr" }, shorten(show(it.value, state.view), 2000)),
      formatBytes(it.value_length),
      // A key that is cut has no address.
      isReport() || it.key_length !== undefined ? "" : h("span", { class: "row-actions" },
        link(`/${source}/lookup`, { ...of, encoding: "hex", key: it.key }, {}, "Look up"),
        button("Versions", () => showVersions(it.key), { class: "linklike" }))));
    const addressable = (it) => (it?.key_length === undefined ? it?.key : undefined);
    const [first, last] = [addressable(page.rows[0]), addressable(page.rows.at(-1))];
    replace(results,
      page.problem && problem(page.problem),
      page.is_cut && h("p", { class: "muted" }, "The page ends early: the rest is large or takes long."),
      rows.length === 0 ? h("p", { class: "muted" }, "No keys.") : table("Keys and values", ["Key", ...(hasTimestamps ? ["Timestamp"] : []), "Value", "Length", ""], rows, "stack"),
      page.rows.at(-1)?.key_length !== undefined && page.has_after && h("p", { class: "muted" }, "The last key is too long for an address, so there is no next page; search by prefix instead."),
      isReport() ? page.has_after && h("p", { class: "muted" }, "The report has the first keys.") : h("div", { class: "toolbar" },
        button("First", () => go({})),
        button("Previous", () => go({ before: first }), { disabled: !page.has_before || first === undefined }),
        button("Next", () => go({ after: last }), { disabled: !page.has_after || last === undefined }),
        button("Last", () => go({ last: "1" })),
        h("span", { class: "muted" }, counted(rows.length, "key"))));
  };
  draw();
  root.setAttribute("data-ready", "scan");
}

// RocksDB's timestamps are numbers of eight bytes.
function showTimestamp(hex) {
  if (hex === undefined) return "";
  const bytes = fromHex(hex);
  return bytes.length === 8 ? String(new DataView(bytes.buffer).getBigUint64(0, true)) : toHex(bytes);
}

// The columns of an entity; the default one has no name.
function columnsView(columns, view) {
  return h("dl", { class: "columns" }, columns.map(([name, value]) => [
    h("dt", {}, name === "" ? h("em", {}, "default") : key(escapeBytes(fromHex(name)))),
    h("dd", {}, h("pre", { class: "value", dir: "ltr" }, shorten(show(value, view), 2000))),
  ]));
}

function versionsCard(all, { source, cf, view, isTable }) {
  const hasTimestamps = all.versions.some((it) => it.timestamp !== undefined);
  return card(`Versions of ${shorten(escapeBytes(fromHex(all.key)), 60)}`, all.versions.length === 0
    ? h("p", { class: "muted" }, "No entries.")
    : table("Versions", ["Sequence number", ...(hasTimestamps ? ["Timestamp"] : []), "Type", "Where", "Length", "Value"], all.versions.map((it) => row(
      formatCount(it.seq), ...(hasTimestamps ? [showTimestamp(it.timestamp)] : []), it.type + (it.is_covered ? ", covered by a range tombstone" : ""),
      it.file === null ? (isTable ? "this table" : "write-ahead log") : link(`/${source}/table`, { cf, file: it.file }, {}, `level ${it.level}, table ${it.file}`),
      it.value_length === null ? "" : formatBytes(it.value_length),
      it.value === null ? "" : h("pre", { class: "value", dir: "ltr" }, shorten(show(it.value, view), 500))))));
}
