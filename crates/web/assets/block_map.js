// The blocks of a table to scale, coloured by kind. Zoomed in far enough, the fields of a block and its bytes.

import { announce, h, hideTooltip, showTooltip } from "./dom.js";
import { counted, formatBytes, formatCount, formatPercent, fromHex } from "./bytes.js";
import { BLOCK_KINDS, colour, css, kindColour } from "./colour.js";
import { isReport } from "./data.js";
import { legend } from "./chart.js";
import { classOf } from "./hex.js";
import { Viewport } from "./viewport.js";

const HEIGHT = 132;
const TOP = 30;
const BAND = 72;
const TRAILER = 5;
// Pixels of a byte from which on fields are drawn, and bytes.
const FIELD_PIXELS = 2;
const BYTE_PIXELS = 17;
const FIELD_TOP = TOP + 20;
const NOT_IN_REPORT = "these bytes are not in the report";

// The scale of a map of offsets, from `top` on.
export function drawOffsets(context, viewport, top) {
  const { start, end, left } = viewport;
  const width = viewport.canvas.clientWidth;
  context.fillStyle = colour("--muted");
  context.font = `11px ${css("--sans")}`;
  // Steps are powers of two: 4 KiB, 8 KiB and so on, or single bytes.
  const step = 2 ** Math.max(0, Math.ceil(Math.log2((end - start) / Math.max(2, viewport.width / 130))));
  const [by, unit] = step < 1024 ? [1, ""] : step < 1 << 20 ? [1024, " KiB"] : [1 << 20, " MiB"];
  for (let value = Math.ceil(start / step) * step; value <= end; value += step) {
    const x = viewport.x(value);
    const text = value === 0 ? "0" : `${formatCount(value / by)}${unit}`;
    const half = context.measureText(text).width / 2;
    context.fillRect(Math.min(x, width - 1), top + 2, 1, 4);
    context.textAlign = x < left + half ? "left" : x > width - half ? "right" : "center";
    context.fillText(text, x, top + 14);
  }
  context.textAlign = "left";
}

export class BlockMap {
  // `onOpen(block)` shows a block; `describe(block, offset)` returns a promise of its bytes around an offset.
  constructor(blocks, size, onOpen, describe) {
    this.blocks = blocks;
    this.size = size;
    this.selected = null;
    this.onOpen = onOpen;
    this.describeBytes = describe;
    this.detail = null;
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
    context.fillStyle = colour("--track");
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
        context.fillStyle = colour("--bad");
        context.fillRect(a, TOP - 5, Math.max(wide, 3), 4);
      }
      const isDetailed = this.drawFields(context, block, Math.max(a, 0), Math.min(a + wide, width));
      if (wide > 58) this.drawLabel(context, block, Math.max(a, 0), Math.min(b, width), isDetailed);
      if (block === this.selected) {
        context.strokeStyle = colour("--text");
        context.lineWidth = 2.5;
        context.strokeRect(a - 1, TOP - 3, Math.max(wide + 2, 4), BAND + 6);
      }
    }
    drawOffsets(context, this.viewport, TOP + BAND);
    context.fillStyle = colour("--muted");
    context.font = `11px ${css("--sans")}`;
    const { start, end } = viewport;
    const range = start === 0 && end === this.size ? "" : ` of ${formatBytes(this.size)}, from offset ${formatCount(start)}`;
    context.fillText(`${formatBytes(end - start)} shown${range}`, 0, 10);
  }

  // The fields of a block, if they are large enough to be seen. Loads them if they are not known.
  drawFields(context, block, a, b) {
    const { viewport } = this;
    const pixels = viewport.width / (viewport.end - viewport.start);
    if (pixels < FIELD_PIXELS || b - a < 4) return false;
    const middle = viewport.value((a + b) / 2);
    const { detail } = this;
    if (detail?.block !== block || middle < detail.from || middle >= detail.to) {
      // One at a time: the one in the middle of the map.
      if (this.blockAt(viewport.left + viewport.width / 2) === block) this.loadDetail(block, Math.floor(middle));
      return false;
    }
    context.save();
    context.beginPath();
    context.rect(a, TOP, b - a, BAND);
    context.clip();
    for (const field of detail.fields) {
      const [from, to] = [viewport.x(field.start), viewport.x(field.end)];
      if (to < a || from > b) continue;
      context.fillStyle = colour(`--${classOf(field.name)}`);
      context.fillRect(from, FIELD_TOP, Math.max(to - from - 1, 1), BAND - 20);
      context.fillStyle = colour("--text");
      context.font = `11px ${css("--sans")}`;
      const [text, value] = [field.name, field.value ?? ""];
      const left = Math.max(from, a) + 4;
      if (context.measureText(text).width < to - left - 4) context.fillText(text, left, FIELD_TOP + 11);
      if (context.measureText(value).width < to - left - 4) context.fillText(value, left, FIELD_TOP + 26);
    }
    if (pixels >= BYTE_PIXELS) {
      context.font = `11px ${css("--mono")}`;
      context.fillStyle = colour("--text");
      context.textAlign = "center";
      for (let at = Math.max(Math.floor(viewport.value(a)), detail.from); at < Math.min(viewport.value(b), detail.to); at += 1) {
        const byte = detail.bytes.get(at);
        if (byte !== undefined) context.fillText(byte, viewport.x(at + 0.5), FIELD_TOP + 43);
      }
      context.textAlign = "left";
    }
    context.restore();
    return true;
  }

  async loadDetail(block, offset) {
    const wanted = `${block.offset} ${offset >> 10}`;
    if (this.wanted === wanted) return;
    this.wanted = wanted;
    const described = await this.describeBytes(block, offset);
    if (this.wanted !== wanted) return;
    const end = this.endOf(block);
    this.detail = described ? detailOf(block, described, end)
      : { block, fields: [{ name: isReport() ? NOT_IN_REPORT : "its bytes cannot be read", start: block.offset, end }], bytes: new Map(), from: block.offset, to: end };
    this.viewport.redraw();
  }

  drawLabel(context, block, a, b, isDetailed) {
    if (b - a < 58) return;
    context.save();
    context.beginPath();
    context.rect(a, TOP, b - a - 4, BAND);
    context.clip();
    context.fillStyle = colour("--on-kind");
    // Outlined, as the upper part of a compressed block is pale.
    context.strokeStyle = kindColour(block.kind);
    context.lineWidth = 4;
    context.lineJoin = "round";
    const write = (text, y) => {
      if (context.measureText(text).width > b - a - 10) return;
      context.strokeText(text, a + 6, TOP + y);
      context.fillText(text, a + 6, TOP + y);
    };
    context.font = `600 12px ${css("--sans")}`;
    write(BLOCK_KINDS[block.kind] ?? block.kind, isDetailed ? 10 : 14);
    if (isDetailed) return context.restore();
    context.font = `11px ${css("--sans")}`;
    write(formatBytes(block.length), 31);
    if (block.uncompressed) {
      const share = block.length / block.uncompressed;
      write(formatPercent(share, 0), 47);
    }
    if (block.entries) write(counted(block.entries, "entry", "entries"), 62);
    return context.restore();
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
    const at = Math.floor(this.viewport.value(x));
    const isDetailed = this.detail?.block === block && this.viewport.width / (this.viewport.end - this.viewport.start) >= FIELD_PIXELS;
    const field = isDetailed && this.detail.fields.find((it) => it.start <= at && at < it.end);
    if (field) {
      return showTooltip(event.clientX, event.clientY, h("strong", {}, field.name), field.value !== undefined && ` = ${field.value}`,
        h("div", {}, field.entry === undefined ? "" : `entry ${field.entry}, `, `bytes ${formatCount(field.start)} to ${formatCount(field.end - 1)}`));
    }
    const [title, ...lines] = this.describe(block);
    return showTooltip(event.clientX, event.clientY, h("strong", {}, title), lines.map((line) => h("div", {}, line)));
  }
}

// The fields and bytes of a part of a block, by their place in the file. A compressed block has its stored bytes
// there: its fields are of the decompressed ones.
function detailOf(block, described, end) {
  const bytes = new Map();
  const fields = [];
  const isFooter = described.kind === "footer";
  const isStored = isFooter || described.compression === "none";
  const add = (marked, base, fieldBase) => {
    fromHex(marked.hex).forEach((byte, at) => bytes.set(base + at, byte.toString(16).padStart(2, "0")));
    for (const field of marked.fields) fields.push({ ...field, start: field.start + fieldBase, end: field.end + fieldBase });
  };
  const { contents, trailer } = described;
  // Of a report, which has no stored bytes, nothing but that.
  const shown = isStored ? contents : described.stored ?? { start: 0, hex: "", fields: [] };
  const start = isFooter ? shown.start : block.offset + shown.start;
  add(shown, start, isFooter ? shown.start : block.offset);
  if (!isStored) {
    fields.push({ name: `${described.compression}: select the block to see its fields`, start: block.offset, end: block.offset + block.length });
  }
  if (trailer) add(trailer, trailer.start, trailer.start);
  const to = start + shown.hex.length / 2;
  const isAll = shown.hex === "" || isFooter || shown.start + shown.hex.length / 2 >= block.length;
  if (!isAll && isReport()) {
    fields.push({ name: NOT_IN_REPORT, start: to, end: block.offset + block.length });
    return { block, fields, bytes, from: start, to: end };
  }
  return { block, fields, bytes, from: shown.hex === "" ? block.offset : start, to: isAll ? end : to };
}

// How many blocks of each kind there are.
export function kindLegend(blocks) {
  const kinds = new Map();
  for (const block of blocks) kinds.set(block.kind, (kinds.get(block.kind) ?? 0) + 1);
  return legend([...kinds].map(([kind, count]) => [kindColour(kind), `${BLOCK_KINDS[kind] ?? kind} ${formatCount(count)}`]));
}
