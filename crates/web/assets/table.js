// A table: the map of its blocks, one of them in detail, the index, properties.

import { announce, badge, button, card, facts, h, hideTooltip, key, problem, replace, row, showTooltip, table } from "./dom.js";
import { counted, formatBytes, formatCount, formatPercent, formatTime, shorten } from "./bytes.js";
import { getJson } from "./data.js";
import { keepInAddress, link } from "./router.js";
import { BLOCK_KINDS, css, kindColour } from "./colour.js";
import { legend } from "./chart.js";
import { showBlock } from "./block.js";
import { Viewport, zoomButtons } from "./viewport.js";

const HEIGHT = 132;
const TOP = 30;
const BAND = 72;
const TRAILER = 5;
const PLACES = 50000;
const DETAILS = 500;

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
  const map = new BlockMap(blocks, info.size, (block) => open(block.offset));
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
  else replace(panel, h("p", { class: "muted" }, "Select a block to see its entries and bytes. Comma and period go through the blocks."));
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

export function shortName(path) {
  return path.split("/").pop();
}

class BlockMap {
  constructor(blocks, size, onOpen) {
    this.blocks = blocks;
    this.size = size;
    this.selected = null;
    this.onOpen = onOpen;
    this.viewport = new Viewport({
      label: "Blocks of the file to scale",
      height: HEIGHT,
      total: size,
      least: Math.min(64, size),
      draw: (context) => this.draw(context),
      drawMap: (context, width, height) => this.drawMap(context, width, height),
      onHover: (x, y, event) => this.hover(x, y, event),
      onSelect: (x) => {
        const block = this.blockAt(x);
        if (block) this.onOpen(block);
      },
      onStep: (by) => this.step(by),
    });
    this.element = this.viewport.element;
  }

  indexAt(offset) {
    let [low, high] = [0, this.blocks.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.blocks[middle].offset <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  blockAt(x) {
    const offset = this.viewport.value(x);
    if (offset < 0 || offset >= this.size || this.blocks.length === 0) return null;
    return this.blocks[this.indexAt(offset)];
  }

  endOf(block) {
    return block.kind === "footer" ? this.size : block.offset + block.length + TRAILER;
  }

  select(offset) {
    this.selected = this.blocks.find((block) => block.offset === offset) ?? null;
    if (!this.selected) return;
    this.viewport.reveal(offset, this.endOf(this.selected));
    announce(this.describe(this.selected).join(", "));
  }

  step(by) {
    const at = this.selected ? this.blocks.indexOf(this.selected) : by > 0 ? -1 : 0;
    const block = this.blocks[(at + by + this.blocks.length) % this.blocks.length];
    if (block) this.onOpen(block);
  }

  draw(context) {
    const { viewport, blocks } = this;
    const width = viewport.canvas.clientWidth;
    context.fillStyle = css("--track");
    context.fillRect(0, TOP, width, BAND);
    let last = -1;
    let lastKind = null;
    for (let at = this.indexAt(viewport.start); at < blocks.length; at += 1) {
      const block = blocks[at];
      const a = viewport.x(block.offset);
      if (a > width) break;
      const b = viewport.x(this.endOf(block));
      // Many blocks in a pixel are drawn once; another kind is always drawn.
      if (b - a < 0.4 && Math.floor(a) === last && block.kind === lastKind) continue;
      last = Math.floor(a);
      lastKind = block.kind;
      const isWide = b - a > 3;
      const wide = Math.max(b - a - (isWide ? 1 : 0), 0.6);
      context.fillStyle = kindColour(block.kind);
      context.globalAlpha = block.uncompressed ? 0.35 : 0.9;
      context.fillRect(a, TOP, wide, BAND);
      context.globalAlpha = 1;
      // The filled part is what is left after compression.
      if (block.uncompressed) {
        const share = Math.min(1, block.length / block.uncompressed);
        context.fillRect(a, TOP + BAND * (1 - share), wide, BAND * share);
      }
      if (block.problem) {
        context.fillStyle = css("--bad");
        context.fillRect(a, TOP - 5, Math.max(wide, 3), 4);
      }
      if (wide > 58) this.drawLabel(context, block, Math.max(a, 0), Math.min(b, width));
      if (block === this.selected) {
        context.strokeStyle = css("--text");
        context.lineWidth = 2.5;
        context.strokeRect(a - 1, TOP - 3, Math.max(wide + 2, 4), BAND + 6);
      }
    }
    this.drawScale(context, width);
  }

  drawLabel(context, block, a, b) {
    if (b - a < 58) return;
    context.save();
    context.beginPath();
    context.rect(a, TOP, b - a - 4, BAND);
    context.clip();
    context.fillStyle = css("--on-kind");
    context.font = `600 12px ${css("--sans")}`;
    context.fillText(BLOCK_KINDS[block.kind] ?? block.kind, a + 6, TOP + 14);
    context.font = `11px ${css("--sans")}`;
    context.fillText(formatBytes(block.length), a + 6, TOP + 31);
    if (block.uncompressed) {
      const share = block.length / block.uncompressed;
      context.fillText(block.compression === "none" ? "not compressed" : formatPercent(share, 0), a + 6, TOP + 47);
    }
    if (block.entries) context.fillText(counted(block.entries, "entry", "entries"), a + 6, TOP + 62);
    context.restore();
  }

  drawScale(context, width) {
    context.fillStyle = css("--muted");
    context.font = `11px ${css("--sans")}`;
    const y = TOP + BAND + 14;
    const ticks = Math.max(2, Math.floor(width / 150));
    for (let at = 0; at <= ticks; at += 1) {
      const x = (at / ticks) * width;
      context.textAlign = at === 0 ? "left" : at === ticks ? "right" : "center";
      context.fillRect(Math.min(x, width - 1), TOP + BAND + 2, 1, 4);
      context.fillText(formatCount(this.viewport.value(x)), x, y);
    }
    context.textAlign = "left";
    context.fillText(`${formatBytes(this.viewport.end - this.viewport.start)} shown`, 0, 10);
  }

  drawMap(context, width, height) {
    let end = -1;
    for (const block of this.blocks) {
      const [a, b] = [block.offset, this.endOf(block)].map((at) => (at / this.size) * width);
      if (b < end + 0.3 && block.kind === "data") continue;
      end = b;
      context.fillStyle = kindColour(block.kind);
      context.fillRect(a, 0, Math.max(b - a, 0.4), height);
    }
  }

  describe(block) {
    const lines = [`${BLOCK_KINDS[block.kind] ?? block.kind} block`, `offset ${formatCount(block.offset)}`, formatBytes(block.length)];
    if (block.uncompressed) lines.push(`${formatBytes(block.uncompressed)} decompressed (${block.compression})`);
    if (block.entries) lines.push(counted(block.entries, "entry", "entries"));
    if (block.problem) lines.push(block.problem);
    return lines;
  }

  hover(x, y, event) {
    const block = x === null ? null : this.blockAt(x);
    if (!block || y < TOP - 6 || y > TOP + BAND + 6) return hideTooltip();
    const [title, ...lines] = this.describe(block);
    return showTooltip(event.clientX, event.clientY, h("strong", {}, title), lines.map((line) => h("div", {}, line)));
  }
}

function kindLegend(blocks) {
  const kinds = new Map();
  for (const block of blocks) kinds.set(block.kind, (kinds.get(block.kind) ?? 0) + 1);
  return legend([...kinds].map(([kind, count]) => [kindColour(kind), `${BLOCK_KINDS[kind] ?? kind} ${formatCount(count)}`]));
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

function properties(info) {
  const rows = Object.entries(info.properties).map(([name, value]) =>
    row(h("code", { class: "name" }, name), typeof value === "number" ? formatCount(value) : h("code", { class: "value" }, value)));
  if (rows.length === 0) return h("p", { class: "muted" }, "LevelDB's tables have no properties.");
  return table("Properties", ["Name", "Value"], rows);
}
