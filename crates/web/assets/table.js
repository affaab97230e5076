// A table: its blocks, one of them in detail, the index, properties.

import { badge, button, card, facts, h, key, problem, replace, row, table } from "./dom.js";
import { formatBytes, formatCount, formatPercent, formatTime, shorten, shortName } from "./bytes.js";
import { getJson, isReport } from "./data.js";
import { keepInAddress, link } from "./router.js";
import { showBlock } from "./block.js";
import { BlockMap, kindLegend } from "./block_map.js";
import { zoomButtons } from "./viewport.js";

const PLACES = 50000;
const DETAILS = 500;
// Bytes of a block that are loaded to draw its fields.
const BYTES = 4096;

export async function tablePage({ root, source, params, signal, isCurrent, adoptFamily }) {
  const file = params.file;
  const [page, first] = await Promise.all([
    getJson(`/${source}/table.json`, { file }, signal),
    getJson(`/${source}/blocks.json`, { file }, signal),
  ]);
  if (!isCurrent()) return;
  const cf = adoptFamily(page.column_family);
  const { info } = page;
  const blocks = first.blocks.map(([kind, offset, length]) => ({ kind, offset, length }));
  const panel = h("div", { class: "block-panel" });
  const describeBytes = (block, offset) => {
    const from = block.kind === "footer" ? 0 : Math.max(0, offset - block.offset - BYTES / 2);
    // A report has the first bytes of some blocks.
    const of = isReport() ? { file, offset: block.offset }
      : { file, offset: block.offset, bytes_from: from || undefined, bytes: BYTES, entries: 1, stored: 1 };
    // What cannot be had is not drawn.
    return getJson(`/${source}/block.json`, of, signal).catch(() => null);
  };
  const map = new BlockMap(blocks, info.size, (block) => open(block.offset), describeBytes);
  const open = (offset) => {
    keepInAddress({ block: offset });
    map.select(offset);
    return showBlock(panel, { source, file, offset, open, signal });
  };
  const kinds = h("div", {});
  root.append(
    h("div", { class: "heading" },
      h("h1", {}, shortName(info.file)),
      badge(info.kind === "rocksdb-table" ? "RocksDB" : "LevelDB"),
      page.level !== null && badge(`level ${page.level}`),
      h("span", { class: "muted" }, `${formatBytes(info.size)}, ${info.entries === null ? "unknown number of" : formatCount(info.entries)} entries`),
      link(`/${source}/filter`, { cf, file }, { class: "button" }, "Filter"),
      link(`/${source}/scan`, { cf, file }, { class: "button" }, "Keys")),
    ...(info.problems ?? []).map((it) => problem(it.message)),
    card("The file, block by block",
      h("div", { class: "toolbar" }, h("span", { class: "field" }, h("span", {}, "Zoom"), zoomButtons(map.viewport)), kinds),
      map.element, panel),
  );
  replace(kinds, kindLegend(blocks));
  const start = params.block === undefined ? undefined : Number(params.block);
  if (start !== undefined && blocks.some((block) => block.offset === start)) await open(start);
  else replace(panel, h("p", { class: "muted" }, "Select a block to see its entries and bytes; zoom in to see its fields. Comma and period go through the blocks. The filled part of a block is its stored size, all of it the decompressed size; a red line marks damage."));
  if (!isCurrent()) return;
  // Added below what is complete, so that nothing moves.
  root.append(
    h("div", { class: "grid" },
      card("What it is", tableFacts(info, page.tail)),
      card("Where the bytes are", sizeFacts(info)),
      card("Index", indexPanel(source, file, blocks, open, signal)),
      page.range_tombstone_count > 0 && card("Range tombstones", tombstones(page)),
      card("Properties", properties(info)),
    ),
  );

  while (blocks.length < first.total && isCurrent()) {
    const more = await getJson(`/${source}/blocks.json`, { file, from: blocks.length, limit: PLACES }, signal);
    if (more.blocks.length === 0) break;
    blocks.push(...more.blocks.map(([kind, offset, length]) => ({ kind, offset, length })));
    map.viewport.redraw();
    replace(kinds, kindLegend(blocks));
  }
  await loadDetails({ source, file, blocks, map, signal, isCurrent });
  root.setAttribute("data-ready", "details");
}

// Reads blocks to know how well they compress: all of a small table, of a large one the first.
async function loadDetails({ source, file, blocks, map, signal, isCurrent }) {
  const end = Math.min(blocks.length, 4 * DETAILS);
  for (let from = 0; from < end && isCurrent();) {
    let page;
    try {
      page = await getJson(`/${source}/details.json`, { file, from, limit: DETAILS }, signal);
    } catch (error) {
      if (error.status === 404) return;
      throw error;
    }
    page.blocks.forEach((details, at) => Object.assign(blocks[from + at], {
      uncompressed: details.uncompressed, compression: details.compression, entries: details.entries,
      problem: details.problem?.message, name: details.name,
    }));
    from += Math.max(page.blocks.length, 1);
    map.viewport.redraw();
  }
}

function tableFacts(info, tail) {
  return facts([
    ["Path", info.file],
    ["Format version", info.format_version],
    ["Checksum", info.checksum],
    ["Compression", info.codecs?.map((it) => it.codec).join(", ") ?? tail.compression],
    ["Comparator", info.comparator],
    ["Smallest key", info.smallest_key === null ? null : key(shorten(info.smallest_key, 80))],
    ["Largest key", info.largest_key === null ? null : key(shorten(info.largest_key, 80))],
    ["Sequence numbers", info.smallest_seq === null ? null : `${formatCount(info.smallest_seq)} to ${formatCount(info.largest_seq)}`],
    ["Entries", info.entries_by_kind
      ? Object.entries(info.entries_by_kind).map(([kind, count]) => `${formatCount(count)} ${kind}`).join(", ")
      : info.entries === null ? "unknown" : formatCount(info.entries)],
    ["Index", `${info.index.kind}${info.index.partitions ? `, ${info.index.partitions} partitions` : ""}`],
    ["Filter", info.filter ? `${info.filter.kind}, ${formatBytes(info.filter.bytes)}` : "none"],
    ["Written", tail.created ? formatTime(tail.created) : null],
    ["Readable by", info.readable_by.text],
  ]);
}

function sizeFacts(info) {
  const names = [["data", "Data"], ["blobs", "Embedded blobs"], ["index", "Index"], ["filter", "Filter"],
    ["other", "Properties and others"], ["footer", "Footer"], ["padding", "Padding"]];
  const rows = names.filter(([name]) => info.sizes[name] > 0).map(([name, text]) =>
    row(text, formatBytes(info.sizes[name]), formatPercent(info.sizes[name] / info.size)));
  const codecs = (info.codecs ?? []).map((it) => row(it.codec, formatCount(it.blocks), formatBytes(it.bytes),
    formatBytes(it.uncompressed), formatPercent(it.bytes / it.uncompressed)));
  return h("div", {}, table("Bytes by purpose", ["Part", "Bytes", "Share"], rows),
    codecs.length > 0 && [h("h3", {}, "Data blocks by codec"),
      table("Data blocks by codec", ["Codec", "Blocks", "Stored", "Decompressed", "Ratio"], codecs)]);
}

// The index as a tree: the entries of the top level, and below each partition its own.
function indexPanel(source, file, blocks, open, signal) {
  const top = blocks.find((block) => block.kind === "index");
  const body = h("div", {});
  if (!top) return body;
  const level = async (element, offset, isTop) => {
    let block;
    try {
      block = await getJson(`/${source}/block.json`, { file, offset }, signal);
    } catch (error) {
      if (error.name !== "AbortError") replace(element, h("p", { class: "muted" }, error.message));
      return;
    }
    const partitions = new Set(blocks.filter((it) => it.kind === "index_partition").map((it) => it.offset));
    replace(element, h("ul", { class: "tree" }, block.rows.slice(0, 50).map((entry) => {
      const [to] = entry.handle ?? [null];
      const text = [h("code", { class: "key", dir: "ltr" }, shorten(entry.shared_key + entry.own_key, 40)), " → "];
      if (isTop && partitions.has(to)) {
        const inner = h("div", {});
        const details = h("details", { ontoggle: () => details.open && inner.childElementCount === 0 && level(inner, to, false) },
          h("summary", {}, ...text, `partition at ${formatCount(to)}`), inner);
        return h("li", {}, details);
      }
      return h("li", {}, ...text, button(`block at ${formatCount(to)}`, () => open(to), { class: "linklike" }));
    })), block.entries > 50 && h("p", { class: "muted" },
      `The first 50 of ${formatCount(block.entries)} entries. `, button("Show the index block", () => open(offset), { class: "linklike" })));
  };
  level(body, top.offset, true);
  return body;
}

function tombstones(page) {
  return h("div", {}, table("Range tombstones", ["From", "To (excluded)", "Seq"], page.range_tombstones.map((it) =>
    row(key(it.key), key(it.value ?? ""), formatCount(it.seq)))),
    page.range_tombstone_count > page.range_tombstones.length &&
      h("p", { class: "muted" }, `The first ${page.range_tombstones.length} of ${formatCount(page.range_tombstone_count)}.`));
}

// A name that lines break after its dots and underscores.
function breakable(name) {
  return name.split(/(?<=[._])/).map((part) => [part, h("wbr", {})]);
}

function properties(info) {
  const rows = Object.entries(info.properties).map(([name, value]) =>
    row(h("code", { class: "name" }, breakable(name)), typeof value === "number" ? formatCount(value) : h("code", { class: "value" }, value)));
  if (rows.length === 0) return h("p", { class: "muted" }, "LevelDB's tables have no properties.");
  return table("Properties", ["Name", "Value"], rows);
}
