// The blocks of a table to scale, coloured by kind.

import { announce, h, hideTooltip, showTooltip } from "./dom.js";
import { counted, formatBytes, formatCount, formatPercent } from "./bytes.js";
import { BLOCK_KINDS, colour, css, kindColour } from "./colour.js";
import { legend } from "./chart.js";
import { Viewport } from "./viewport.js";

const HEIGHT = 132;
const TOP = 30;
const BAND = 72;
const TRAILER = 5;

export class BlockMap {
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
      if (wide > 58) this.drawLabel(context, block, Math.max(a, 0), Math.min(b, width));
      if (block === this.selected) {
        context.strokeStyle = colour("--text");
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
    write(BLOCK_KINDS[block.kind] ?? block.kind, 14);
    context.font = `11px ${css("--sans")}`;
    write(formatBytes(block.length), 31);
    if (block.uncompressed) {
      const share = block.length / block.uncompressed;
      write(block.compression === "none" ? "not compressed" : formatPercent(share, 0), 47);
    }
    if (block.entries) write(counted(block.entries, "entry", "entries"), 62);
    context.restore();
  }

  drawScale(context, width) {
    context.fillStyle = colour("--muted");
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

// How many blocks of each kind there are.
export function kindLegend(blocks) {
  const kinds = new Map();
  for (const block of blocks) kinds.set(block.kind, (kinds.get(block.kind) ?? 0) + 1);
  return legend([...kinds].map(([kind, count]) => [kindColour(kind), `${BLOCK_KINDS[kind] ?? kind} ${formatCount(count)}`]));
}
