// A database: levels, files, column families, memory.

import { announce, badge, card, choice, facts, h, key, problem, replace, row, select, table } from "./dom.js";
import { counted, formatBytes, formatCount, formatPercent, formatTime, shorten, shortName } from "./bytes.js";
import { getJson } from "./data.js";
import { keepInAddress, link, navigate } from "./router.js";
import { colour } from "./colour.js";
import { legend, partBars, rampBar } from "./chart.js";
import { LevelsMap } from "./levels.js";
import { historyPanel } from "./history.js";
import { zoomButtons } from "./viewport.js";

const TAILS = 200;
const FILES_SHOWN = 200;
const PROBLEMS_SHOWN = 50;
const DELETED = "The file was deleted since.";

export async function databasePage({ root, source, params, signal, isCurrent }) {
  const cf = params.cf ?? "default";
  const map = await getJson(`/${source}/database.json`, { cf: params.cf }, signal);
  if (!isCurrent()) return;
  const tails = new Map();
  const files = map.levels.flatMap((level) => level.files.map((file) => ({ ...file, level: level.level })));

  // An earlier state of the history has files that were deleted since.
  const isLive = (file) => files.some((it) => it.number === file.number);
  const open = (file) => (isLive(file) ? navigate(`/${source}/table`, { cf: params.cf, file: file.number }) : announce(DELETED));
  const details = h("div", { class: "selection", "aria-live": "polite" });
  const levels = new LevelsMap({
    axis: map.axis, levels: map.levels, tails,
    scaleBy: params.axis ?? "bytes",
    colourBy: params.colour ?? "size",
    onSelect: (file) => showSelection(details, source, params.cf, levels, file, isLive),
    onOpen: open,
  });
  const place = h("div", { hidden: files.length === 0 }, levels.element, details);
  const scaleText = h("span", { class: "ramp-labels" });
  const showScale = () => {
    const [low, high] = levels.describeExtent();
    replace(scaleText, low !== "" && [h("span", {}, low), rampBar(), h("span", {}, high)]);
  };
  showScale();
  const empty = h("p", { class: "muted", hidden: files.length > 0 }, noTables(map, cf));
  const unreadable = h("div", {});
  const history = map.manifest !== null && historyPanel({ source, cf: params.cf, map, levels, signal, isCurrent,
    onShow: (shown) => {
      place.hidden = shown.length === 0;
      empty.hidden = shown.length > 0;
      replace(empty, "There are no tables at this edit.");
      showScale();
    } });

  const size = map.levels.reduce((sum, level) => sum + level.size, 0);
  root.append(
    heading(map, size),
    ...map.caveats.map((caveat) => problem(caveat)),
    card(
      "Levels",
      h(
        "div",
        { class: "toolbar" },
        map.column_families.length > 1 &&
          select("Column family", map.column_families.map((it) => [it.name, it.name]), cf,
            (name) => navigate(`/${source}/database`, { ...params, cf: name })),
        h("span", { class: "field" }, h("span", {}, "Colour"), choice("Colour of files",
          [["size", "Size"], ["age", "Age"], ["filter", "Filter"], ["tombstones", "Tombstones"]], levels.colourBy,
          (by) => {
            levels.setColour(by);
            showScale();
            keepInAddress({ colour: by });
          })),
        h("span", { class: "field" }, h("span", {}, "Key axis"), choice("Scale of the key axis",
          [["bytes", "By bytes"], ["rank", "By rank"]], levels.scaleBy,
          (by) => {
            levels.setScale(by);
            keepInAddress({ axis: by });
          })),
        h("span", { class: "field" }, h("span", {}, "Zoom"), zoomButtons(levels.viewport)),
        h("span", { class: "field" }, h("span", {}, "Scale"), scaleText),
      ),
      map.omitted_files > 0 && problem(`${counted(map.omitted_files, "file")} more are not drawn.`),
      history && history.element,
      empty,
      place,
      unreadable,
    ),
  );
  showSelection(details, source, params.cf, levels, null, isLive);
  const memory = h("div", {}, memoryBars(files, tails));
  root.append(
    h("div", { class: "grid" },
      card("Memory of filters and indexes", memory),
      card("Column family", familyFacts(map, cf)),
      map.column_families.length > 1 && card("Column families", familyTable(map, source)),
      map.blob_files && card("Blob files", blobTable(map.blob_files)),
    ),
    card("Files", fileTable(source, params.cf, map, files)),
  );
  if (history) history.load();

  for (let from = 0; from < files.length && isCurrent();) {
    const page = await getJson(`/${source}/files.json`, { cf: params.cf, from, limit: TAILS }, signal);
    page.files.forEach((tail) => tails.set(tail.number, tail));
    from += Math.max(page.files.length, 1);
    levels.viewport.redraw();
    showScale();
  }
  if (isCurrent()) {
    replace(memory, memoryBars(files, tails));
    replace(unreadable, problemList(files, tails, source, params.cf));
    root.setAttribute("data-ready", "tails");
  }
}

function heading(map, size) {
  const count = map.levels.reduce((sum, level) => sum + level.files.length, 0);
  return h("div", { class: "heading" },
    h("h1", {}, shortName(map.file)),
    badge(map.engine === "rocksdb" ? "RocksDB" : "LevelDB"),
    h("span", { class: "muted" }, `${counted(count, "table")}, ${formatBytes(size)}`),
    map.last_seq !== null && h("span", { class: "muted" }, `last sequence number ${formatCount(map.last_seq)}`),
    shortName(map.file) !== map.file && h("span", { class: "path" }, map.file));
}

function showSelection(element, source, cf, levels, file, isLive) {
  element.classList.toggle("chosen", Boolean(file));
  if (!file) {
    replace(element, h("p", { class: "muted" },
      "Select a file to see what is known about it; a double click opens it. Drag to move. Click the map, then scroll to zoom."));
    return;
  }
  const [[title, size], ...lines] = levels.describe(file);
  replace(element,
    h("div", { class: "toolbar" }, h("strong", {}, title), h("span", { class: "muted" }, size),
      isLive(file)
        ? [link(`/${source}/table`, { cf, file: file.number }, { class: "button" }, "Open the table"),
          link(`/${source}/filter`, { cf, file: file.number }, { class: "button" }, "Open its filter")]
        : badge(DELETED)),
    facts(lines.map(([name, value]) => [name, ["from", "to"].includes(name) ? key(value) : value])));
}

function familyFacts(map, cf) {
  const family = map.column_family;
  const summary = map.column_families.find((it) => it.name === cf) ?? map.column_families[0];
  return facts([
    ["Name", family.name],
    ["Comparator", family.comparator ?? "unknown"],
    ["Merge operator", family.merge_operator],
    ["Prefix extractor", family.prefix_extractor],
    ["Filter policy of new tables", family.filter_policy],
    ["Writes only in the log", formatCount(summary?.memtable_entries ?? 0)],
    ["MANIFEST", map.manifest === null ? null : `MANIFEST-${String(map.manifest).padStart(6, "0")}`],
  ]);
}

function familyTable(map, source) {
  return table("Column families", ["Name", "Tables", "Bytes", "In the log"], map.column_families.map((it) =>
    row(link(`/${source}/database`, { cf: it.name }, {}, it.name), formatCount(it.files), formatBytes(it.size),
      formatCount(it.memtable_entries))));
}

function blobTable(files) {
  return table("Blob files", ["Number", "Values", "Bytes", "Garbage"], files.map((it) =>
    row(it.number, formatCount(it.blobs), formatBytes(it.bytes), formatBytes(it.garbage_bytes))));
}

// Why a column family has no tables.
export function noTables(map, cf) {
  const family = map.column_families.find((it) => it.name === (cf ?? "default"));
  return family?.memtable_entries > 0
    ? `There are no tables: all data is in the write-ahead log, ${counted(family.memtable_entries, "write")}.`
    : "There are no tables, and no writes in the log: the column family is empty.";
}

// The files that cannot be read.
function problemList(files, tails, source, cf) {
  const bad = files.filter((file) => tails.get(file.number)?.problem);
  if (bad.length === 0) return null;
  return h("div", { class: "problem", role: "alert" },
    h("p", {}, `${counted(bad.length, "table")} cannot be read:`),
    h("ul", {}, bad.slice(0, PROBLEMS_SHOWN).map((file) => h("li", {},
      link(`/${source}/table`, { cf, file: file.number }, {}, `level ${file.level}, table ${file.number}`), `: ${tails.get(file.number).problem}`))),
    bad.length > PROBLEMS_SHOWN && h("p", {}, `and ${formatCount(bad.length - PROBLEMS_SHOWN)} more`));
}

function memoryBars(files, tails) {
  const levels = new Map();
  for (const file of files) {
    const sum = levels.get(file.level) ?? { filter: 0, index: 0, size: 0, unreadable: 0 };
    const tail = tails.get(file.number);
    sum.filter += tail?.filter_bytes ?? 0;
    sum.index += tail?.index_bytes ?? 0;
    sum.size += file.size;
    sum.unreadable += tail?.problem ? 1 : 0;
    levels.set(file.level, sum);
  }
  if (levels.size === 0) return h("p", { class: "muted" }, "There are no tables.");
  const [filter, index] = [colour("--kind-filter"), colour("--kind-index")];
  return h("div", {},
    legend([[filter, "Filters"], [index, "Indexes"]]),
    partBars("Memory by level", [...levels].map(([level, sum]) => ({
      label: `Level ${level}`,
      parts: [{ value: sum.filter, colour: filter, name: "Filters" }, { value: sum.index, colour: index, name: "Indexes" }],
      text: tails.size < files.length ? "reading …"
        : `${formatBytes(sum.filter)} + ${formatBytes(sum.index)}, ${formatPercent((sum.filter + sum.index) / sum.size)} of the level${sum.unreadable > 0 ? `, without ${counted(sum.unreadable, "unreadable table")}` : ""}`,
    }))));
}

function fileTable(source, cf, map, files) {
  const shown = files.slice(0, FILES_SHOWN);
  return h("div", {},
    files.length > 0 && table("Files", ["Level", "Table", "Bytes", "Smallest key", "Largest key", "Largest seq", "Written"], shown.map((file) =>
      row(file.level, link(`/${source}/table`, { cf, file: file.number }, {}, String(file.number).padStart(6, "0")),
        formatBytes(file.size), key(shorten(map.axis.keys[file.first] ?? "")), key(shorten(map.axis.keys[file.last] ?? "")),
        file.largest_seq === null ? "" : formatCount(file.largest_seq), file.created ? formatTime(file.created) : "")), "stack"),
    files.length === 0 && h("p", { class: "muted" }, "There are no tables."),
    files.length > shown.length && h("p", { class: "muted" }, `The first ${FILES_SHOWN} of ${formatCount(files.length)} files.`));
}
