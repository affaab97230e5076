// A lookup: the path of a key through the sources, each filter, index, block and entry.

import { badge, card, facts, h, key, problem, select } from "./dom.js";
import { counted, formatBytes, formatCount, formatMicros } from "./bytes.js";
import { getJson } from "./data.js";
import { link, navigate } from "./router.js";
import { colour } from "./colour.js";
import { LevelsMap } from "./levels.js";
import { probeView } from "./probe.js";

const ANSWERS = {
  found: ["Found", "yes"],
  deleted: ["Deleted", "no"],
  absent: ["Not found", "no"],
  filtered: ["Not found: the filter excludes it", "no"],
  unresolved: ["Found, but it cannot be merged", "maybe"],
  failed: ["Not known: a file cannot be read", "no"],
};

// What a table has that is not the whole value.
const PARTS = {
  merge: ["Merge operand", "maybe"],
  blob_index: ["Refers to a blob file", "yes"],
  put_entity: ["Refers to a blob file", "yes"],
};

// The newest entry of a table that counts.
function newestEntry(step) {
  return step.blocks.flatMap((block) => block.search?.entries ?? []).find((entry) => !entry.covered);
}

// What a table by itself says about the key.
function answerOf(step) {
  const part = step.answer === "unresolved" && PARTS[newestEntry(step)?.type];
  return part || (ANSWERS[step.answer] ?? [step.answer, ""]);
}

// The state of a table on the map of the whole lookup.
function stateOf(step) {
  if (step.answer === "unresolved") return newestEntry(step)?.type === "merge" ? "part" : "found";
  return ["found", "deleted", "filtered"].includes(step.answer) ? step.answer : "read";
}

export async function lookupPage({ root, source, info, params, signal, isCurrent }) {
  const isDatabase = info.kind === "database";
  const families = isDatabase ? info.column_families : [];
  const state = { key: params.key ?? "", encoding: params.encoding ?? "escape", cf: params.cf };
  const input = h("input", { type: "text", id: "lookup-key", class: "key-input", value: state.key, autocomplete: "off", spellcheck: "false",
    placeholder: "key" });
  const go = () => navigate(`/${source}/lookup`, { file: params.file, cf: state.cf, encoding: state.encoding === "escape" ? undefined : state.encoding, key: input.value });
  root.append(
    h("h1", {}, "Look up a key"),
    h("form", { class: "card toolbar", onsubmit: (event) => {
      event.preventDefault();
      go();
    } },
    h("label", { class: "field wide", for: "lookup-key" }, h("span", {}, "Key"), input),
    select("Encoding", [["escape", "text, \\xHH"], ["hex", "hexadecimal"], ["base64", "base64"]], state.encoding, (to) => {
      state.encoding = to;
    }),
    families.length > 1 && select("Column family", families.map((it) => [it, it]), state.cf ?? "default", (to) => {
      state.cf = to;
    }),
    h("button", { type: "submit", class: "primary" }, "Look up")));
  if (params.key === undefined) {
    input.focus();
    root.append(h("p", { class: "muted" }, "The page shows each source that a lookup reads, and why the others are left out. Its address can be shared."));
    return;
  }
  let found;
  try {
    found = await getJson(`/${source}/lookup.json`, { key: params.key, cf: params.cf, encoding: params.encoding, file: params.file }, signal);
  } catch (error) {
    if (isCurrent() && error.name !== "AbortError") root.append(problem(error.message));
    return;
  }
  if (!isCurrent()) return;
  // A table alone does not have the value of a reference, nor all operands.
  const [only] = found.steps;
  const [text, kind] = found.answer === "unresolved" && found.problem && only?.source === "table" ? answerOf(only) : ANSWERS[found.answer] ?? [found.answer, ""];
  const { touched } = found;
  root.append(
    h("section", { class: `card answer ${kind}`, "aria-label": "Answer" },
      h("p", { class: "verdict" }, badge(text, kind), " ", key(found.key)),
      found.value !== null && h("p", {}, "Value ", h("code", { class: "value", dir: "ltr" }, found.value.length > 2000 ? `${found.value.slice(0, 2000)}…` : found.value)),
      found.merge && h("p", {}, `${counted(found.merge.length, "operand")}: `, h("code", { class: "value" }, found.merge.join(" , "))),
      found.is_cut && h("p", { class: "muted" }, "The value, or the entries of the key, are too long to be shown completely."),
      found.problem && problem(found.problem),
      h("ul", { class: "figures" },
        figure(formatMicros(found.elapsed_micros), "for the lookup, cached"),
        figure(formatCount(touched.filters), touched.filters === 1 ? "filter probed" : "filters probed"),
        figure(formatCount(touched.indexes), touched.indexes === 1 ? "index searched" : "indexes searched"),
        figure(formatCount(touched.data_blocks), touched.data_blocks === 1 ? "data block read" : "data blocks read"),
        touched.blobs > 0 && figure(formatCount(touched.blobs), touched.blobs === 1 ? "value read from a blob file" : "values read from blob files"),
        figure(formatBytes(touched.stored_bytes), "read from files"),
        figure(formatBytes(touched.decoded_bytes), "decompressed and searched"))));
  if (isDatabase && params.file === undefined) await showMap(root, { source, params, found, signal, isCurrent });
  root.append(h("h2", {}, "The steps of the lookup"), h("ol", { class: "steps" }, joined(found.steps).map((step, at) => stepView(step, at, source, params.cf)),
    found.answer === "failed" && h("li", { class: "step" }, h("h3", {}, "The lookup ends here"), problem(found.problem))));
  root.setAttribute("data-ready", "lookup");
}

// Files of a level that were left out for the same reason are one step.
function joined(steps) {
  const all = [];
  for (const step of steps) {
    const last = all.at(-1);
    const isSame = last && step.files && last.source === step.source && last.level === step.level;
    if (isSame) last.files.push(...step.files);
    else all.push(step.files ? { ...step, files: [...step.files] } : step);
  }
  return all;
}

function figure(number, text) {
  return h("li", {}, h("strong", {}, number), h("span", {}, text));
}

// The levels with the files that the lookup read.
async function showMap(root, { source, params, found, signal, isCurrent }) {
  let map;
  try {
    map = await getJson(`/${source}/database.json`, { cf: params.cf }, signal);
  } catch {
    return;
  }
  if (!isCurrent() || map.levels.length === 0) return;
  const levels = new LevelsMap({ axis: map.axis, levels: map.levels, scaleBy: "rank", colourBy: "size",
    onOpen: (file) => navigate(`/${source}/table`, { cf: params.cf, file: file.number }) });
  const states = new Map();
  for (const step of found.steps) {
    if (step.source !== "table") continue;
    states.set(step.file, stateOf(step));
  }
  levels.light(states, found.slot);
  root.append(card("Files on the path", levels.element,
    outlineLegend([["--warn", "its filter excludes the key"], ["--accent", "searched, not found"], ["--bad", "deleted"], ["--lit", "a merge operand"], ["--good", "found"]]),
    h("p", { class: "muted" }, "Pale files are out of range or were not needed. The dashed line is the key.")));
}

function outlineLegend(items) {
  return h("ul", { class: "legend outlines" }, items.map(([name, text]) =>
    h("li", {}, h("span", { class: "swatch", style: { borderColor: colour(name) } }), text)));
}

function stepView(step, at, source, cf) {
  const delay = { animationDelay: `${Math.min(at, 20) * 90}ms` };
  switch (step.source) {
    case "memtable":
      return h("li", { class: "step", style: delay }, h("h3", {}, "Memtable, from the write-ahead log"),
        step.range_deletion !== null && tombstone(step),
        step.entries.length === 0 ? h("p", { class: "muted" }, "No entry of the key.") : entryList(step.entries));
    case "out_of_range":
      return h("li", { class: "step skipped", style: delay }, h("h3", {}, `Level ${step.level}`),
        h("p", { class: "muted" }, `${counted(step.files.length, "file")} out of range`));
    case "not_asked":
      return h("li", { class: "step skipped", style: delay }, h("h3", {}, `Level ${step.level}`),
        h("p", { class: "muted" }, `${counted(step.files.length, "file")} skipped: already resolved`));
    case "blob_file":
      return h("li", { class: "step", style: delay },
        h("div", { class: "toolbar" }, h("h3", {}, step.file === 0 ? "Blob in the table" : `Blob file ${step.file}`), badge("Has the value", "yes")),
        h("p", {}, `${formatBytes(step.length)} at offset ${formatCount(step.offset)}`));
    default:
      return tableStep(step, delay, source, cf);
  }
}

function tombstone(step) {
  return h("p", {}, `A range tombstone with sequence number ${formatCount(step.range_deletion)} ${step.range_deletion_covers ? "covers the key" : "is older than the key"}.`);
}

function entryList(entries) {
  return h("ul", { class: "entries" }, entries.map((entry) => h("li", {}, badge(entry.type, entry.covered ? "no" : "yes"),
    ` sequence number ${formatCount(entry.seq)}`, entry.value_length === undefined ? "" : `, ${formatBytes(entry.value_length)}`,
    entry.covered ? ", covered by a range tombstone" : "")));
}

function stage(name, result, isGood) {
  return h("li", { class: `stage ${isGood === null ? "" : isGood ? "pass" : "stop"}` }, h("span", { class: "stage-name" }, name), h("span", {}, result));
}

function tableStep(step, delay, source, cf) {
  const { filter, blocks } = step;
  const stages = [stage("Range", "includes the key", true)];
  if (step.range_deletion !== null) stages.push(stage("Tombstone", step.range_deletion_covers ? "covers the key" : "older", !step.range_deletion_covers));
  const ofBlock = blocks.find((block) => block.filter)?.filter;
  const asked = ofBlock ?? filter;
  if (asked) stages.push(stage("Filter", asked.question === "nothing" && !ofBlock ? "not probed" : asked.may_contain ? "may contain it" : "excludes it", asked.may_contain));
  else stages.push(stage("Filter", "none", null));
  for (const block of blocks) {
    stages.push(stage("Index", `block at ${formatCount(block.offset)}`, true));
    if (!block.search) continue;
    stages.push(stage("Block", `${formatBytes(block.length)}${block.search.cached ? ", cached" : ""}`, true));
    stages.push(stage("Interval", block.search.interval === null ? "none, by the hash index" : `${formatCount(block.search.interval)} of ${formatCount(block.search.intervals)}`, block.search.interval !== null));
    const [entry] = block.search.entries;
    stages.push(stage("Entry", entry ? `${entry.type} at ${formatCount(entry.seq)}` : "not in the block", Boolean(entry)));
  }
  const [text, kind] = answerOf(step);
  const title = step.file === undefined ? "Table" : `Level ${step.level}, table ${step.file}`;
  const params = step.file === undefined ? {} : { cf, file: step.file };
  return h("li", { class: "step", style: delay },
    h("div", { class: "toolbar" }, h("h3", {}, title), badge(text, kind),
      blocks.length > 0 && link(`/${source}/table`, { ...params, block: blocks[0].offset }, { class: "button" }, "Show the block")),
    h("ol", { class: "stages" }, stages),
    h("details", {}, h("summary", {}, "Details"),
      filter && filter.question !== "nothing" && probeView({ answer: filter }),
      filter?.question === "nothing" && !ofBlock && h("p", {}, `The filter was not probed: ${filter.reason}.`),
      blocks.map((block) => h("div", {},
        block.filter && probeView({ answer: block.filter }),
        facts([
          ["Index partition", block.index_partition && `at ${formatCount(block.index_partition.offset)}`],
          ["Separator", key(block.separator)],
          ["First key", block.first_key && key(block.first_key)],
          ["Block", `${formatCount(block.offset)} + ${formatCount(block.length)}`],
          ["Decompressed", block.search && formatBytes(block.search.uncompressed)],
          ["Found by", block.search?.by],
        ]),
        block.search && entryList(block.search.entries)))));
}
