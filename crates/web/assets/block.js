// One block: its entries with shared prefixes drawn, its bytes with fields marked, its trailer.

import { badge, button, choice, facts, h, key, problem, replace, row, table } from "./dom.js";
import { counted, formatBytes, formatCount, formatPercent } from "./bytes.js";
import { getJson } from "./data.js";
import { fieldLegend, hexView } from "./hex.js";
import { BLOCK_KINDS } from "./colour.js";

const ENTRIES = 200;

// Shows the block at `offset` of a table; `open(offset)` shows another one.
export async function showBlock(element, { source, file, offset, open, signal, entriesFrom = 0, bytesFrom = 0, tab = "entries" }) {
  const params = { file, offset };
  if (entriesFrom > 0) params.entries_from = entriesFrom;
  if (bytesFrom > 0) params.bytes_from = bytesFrom;
  let block;
  try {
    block = await getJson(`/${source}/block.json`, params, signal);
  } catch (error) {
    if (error.name !== "AbortError") replace(element, problem(error.message));
    return;
  }
  const again = (changes) => showBlock(element, { source, file, offset, open, signal, entriesFrom, bytesFrom, tab, ...changes });
  const hasEntries = block.entries !== null;
  const view = hasEntries ? tab : "bytes";
  const body = h("div", {});
  const show = (now) => {
    if (now === "entries") replace(body, entriesView(block, open, again));
    else if (now === "restarts") replace(body, restartsView(block));
    else replace(body, bytesView(block, again));
  };
  const tabs = [hasEntries && ["entries", "Entries"], ["bytes", "Bytes"], hasEntries && ["restarts", "Restart points"]].filter(Boolean);
  replace(element,
    h("div", { class: "toolbar" },
      h("h3", { id: "block-title" }, `${BLOCK_KINDS[block.kind] ?? block.kind} block at ${formatCount(block.offset)}`),
      block.name && badge(block.name),
      tabs.length > 1 && choice("View of the block", tabs, view, (now) => {
        show(now);
        tab = now;
      })),
    block.problem && problem(block.problem.message),
    facts([
      ["Stored", `${formatBytes(block.length)}${block.kind === "footer" ? "" : " + 5 bytes of trailer"}`],
      ["Decompressed", block.uncompressed === null ? "unknown" : formatBytes(block.uncompressed)],
      ["Compression", block.compression && block.uncompressed
        ? `${block.compression}, ${formatPercent(block.length / block.uncompressed)}` : block.compression],
      ["Entries", block.entries === null ? null : formatCount(block.entries)],
      ["Restart points", block.restarts === null ? null : formatCount(block.restarts)],
    ]),
    body);
  show(view);
}

function pager(from, size, total, what, go) {
  if (total <= size && from === 0) return null;
  return h("div", { class: "toolbar" },
    button("Previous", () => go(Math.max(0, from - size)), { disabled: from === 0 }),
    h("span", { class: "muted" }, `${formatCount(from)} to ${formatCount(Math.min(from + size, total))} of ${formatCount(total)} ${what}`),
    button("Next", () => go(from + size), { disabled: from + size >= total }));
}

function entriesView(block, open, again) {
  const isIndex = block.rows.some((entry) => entry.handle !== null);
  const rows = block.rows.map((entry) => {
    const cells = [
      formatCount(entry.index),
      h("span", { class: entry.restart === null ? "muted" : "restart", title: entry.restart === null ? "" : `restart point ${entry.restart}` },
        entry.restart === null ? formatCount(entry.offset) : `● ${formatCount(entry.offset)}`),
      h("span", { class: "prefix-bar", title: `${entry.shared} bytes shared with the key before it`, vars: { "--shared": String(Math.min(entry.shared, 24)) } }),
      h("code", { class: "key", dir: "ltr" }, h("span", { class: "shared" }, entry.shared_key), h("span", { class: "own" }, entry.own_key)),
    ];
    if (entry.type !== null || !isIndex) cells.push(entry.type ?? "", entry.seq === null ? "" : formatCount(entry.seq));
    if (isIndex) {
      const handle = entry.handle;
      cells.push(handle
        ? button(`${formatCount(handle[0])} + ${formatCount(handle[1])}`, () => open(handle[0]), { class: "linklike" })
        : key(entry.value ?? ""));
      cells.push(entry.first_key ? key(entry.first_key) : "");
    } else {
      cells.push(formatBytes(entry.value_length), h("code", { class: "value", dir: "ltr" }, entry.value ?? ""));
    }
    return row(...cells);
  });
  const hasTypes = block.rows.some((entry) => entry.type !== null) || !isIndex;
  const heads = ["Entry", "Offset", "Shared", isIndex ? "Separator" : "Key"];
  if (hasTypes) heads.push("Type", "Seq");
  heads.push(...(isIndex ? ["Block", "First key"] : ["Length", "Value"]));
  return [
    h("p", { class: "muted" }, "● starts a restart interval. The part of a key that it shares with the key before it is pale."),
    pager(block.entries_from, ENTRIES, block.entries, "entries", (entriesFrom) => again({ entriesFrom })),
    table("Entries of the block", heads, rows, "stack"),
  ];
}

function bytesView(block, again) {
  const isFooter = block.kind === "footer";
  const contents = hexView("Bytes of the block", block.contents, isFooter ? block.contents.start : 0);
  const trailer = block.trailer && hexView("Trailer of the block", block.trailer, block.trailer.start);
  const total = block.uncompressed ?? block.length;
  return [
    fieldLegend(),
    !isFooter && pager(block.contents.start, 8192, total, "bytes", (bytesFrom) => again({ bytesFrom, tab: "bytes" })),
    contents,
    trailer && [h("h4", {}, "Trailer"), trailer],
  ];
}

function restartsView(block) {
  const { restart_points: points, hash_index: buckets } = block;
  // After the entries: the restart points and their number, and perhaps a hash index with the number of its buckets.
  const end = block.uncompressed - 4 * (block.restarts + 1) - (buckets ? buckets.length + 2 : 0);
  const gaps = points.map((point, at) => Math.max(0, (points[at + 1] ?? (points.length < block.restarts ? point : end)) - point));
  const most = Math.max(1, ...gaps);
  return [
    h("p", {}, `${counted(block.restarts, "restart point")}: offsets of entries with a whole key, by which a search finds its interval.`),
    h("div", { class: "restarts", role: "list", "aria-label": "Restart points" }, points.map((point, at) =>
      h("span", { role: "listitem", class: "restart-box", title: `restart point ${at}`, vars: { "--gap": String(Math.max(gaps[at] / most, 0.05)) } },
        formatCount(point)))),
    buckets && [
      h("h4", {}, `Hash index of ${counted(buckets.length, "bucket")}`),
      h("div", { class: "buckets", role: "img", "aria-label": `${buckets.filter((it) => it < 254).length} buckets lead to a restart point` },
        buckets.map((bucket) => h("span", { class: bucket === 255 ? "empty" : bucket === 254 ? "collision" : "",
          title: bucket === 255 ? "empty" : bucket === 254 ? "collision" : `restart point ${bucket}` }))),
    ],
  ];
}
