// The filters of a filter block over the file: each is of the data blocks that start in its bytes.

import { announce, h, hideTooltip, showTooltip } from "./dom.js";
import { counted, formatBytes, formatCount, formatPercent } from "./bytes.js";
import { colour, css, onRamp, ramp } from "./colour.js";
import { drawOffsets } from "./block_map.js";
import { Viewport } from "./viewport.js";

const LEFT = 92;
const BLOCKS = { top: 6, height: 26 };
const FILTERS = { top: 56, height: 30 };
const BOTTOM = FILTERS.top + FILTERS.height;

export class FilterMap {
  // `blocks` are the data blocks, `filters` the first ones of `count` parts of the filter block, `span` the bytes
  // that each covers.
  constructor({ blocks, filters, count, span, onSelect }) {
    Object.assign(this, { blocks, filters, count, span, onSelect, selected: 0, lit: null });
    const last = blocks.at(-1);
    const total = Math.max(count * span, last ? last.offset + last.length : 0, 1);
    this.viewport = new Viewport({
      label: "Data blocks and their filters over the file",
      height: BOTTOM + 24,
      total,
      left: LEFT,
      least: Math.min(span, total),
      draw: (context) => this.draw(context),
      drawMap: (context, width, height) => this.drawMap(context, width, height),
      onHover: (x, y, event) => this.hover(x, y, event),
      onSelect: (x) => this.select(this.filterAt(x)),
      onStep: (by) => this.select((this.selected + by + count) % count),
    });
    this.element = this.viewport.element;
  }

  filterAt(x) {
    const at = Math.floor(this.viewport.value(x) / this.span);
    return x >= LEFT && at >= 0 && at < this.count ? at : null;
  }

  blocksOf(at) {
    return this.blocks.filter((block) => Math.floor(block.offset / this.span) === at);
  }

  select(at) {
    if (at === null) return;
    this.show(at);
    announce(this.describe(at).join(", "));
    this.onSelect(at);
  }

  // Shows which filter is selected, and which was probed.
  show(at, lit = this.lit) {
    this.selected = at;
    this.lit = lit;
    this.viewport.reveal(at * this.span, (at + 1) * this.span);
  }

  describe(at) {
    const filter = this.filters[at];
    const lines = [`Filter ${formatCount(at)}`, `of data blocks that start in bytes ${formatCount(at * this.span)} to ${formatCount((at + 1) * this.span - 1)}`,
      counted(this.blocksOf(at).length, "block")];
    if (!filter) return lines;
    lines.push(filter.bytes === 0 ? "empty" : formatBytes(filter.bytes));
    if (filter.fill !== null && filter.bytes > 0) lines.push(`${formatPercent(filter.fill)} of its bits set`);
    return lines;
  }

  draw(context) {
    const { viewport, span } = this;
    const width = viewport.canvas.clientWidth;
    context.fillStyle = colour("--text");
    context.font = `600 13px ${css("--sans")}`;
    context.fillText("Data blocks", 2, BLOCKS.top + BLOCKS.height / 2);
    context.fillText("Filters", 2, FILTERS.top + FILTERS.height / 2);
    context.save();
    context.beginPath();
    context.rect(LEFT - 2, 0, width - LEFT + 2, BOTTOM + 24);
    context.clip();
    let drawn = -1;
    for (const block of this.blocks) {
      const [a, b] = [viewport.x(block.offset), viewport.x(block.offset + block.length)];
      if (b < LEFT || a > width || b < drawn + 0.5) continue;
      drawn = b;
      const of = Math.floor(block.offset / span);
      context.fillStyle = colour("--kind-data");
      context.globalAlpha = of === this.selected ? 1 : 0.55;
      context.fillRect(a, BLOCKS.top, Math.max(b - a - 1, 0.6), BLOCKS.height);
      context.globalAlpha = 1;
      // From the start of the block to its filter.
      if (b - a < 4) continue;
      context.strokeStyle = colour(of === this.selected ? "--text" : "--minimap");
      context.lineWidth = of === this.selected ? 2 : 1;
      context.beginPath();
      context.moveTo(a + 1, BLOCKS.top + BLOCKS.height);
      context.lineTo(viewport.x((of + 0.5) * span), FILTERS.top);
      context.stroke();
    }
    const first = Math.max(0, Math.floor(viewport.start / span));
    let pixel = -1;
    for (let at = first; at < this.filters.length; at += 1) {
      const [a, b] = [viewport.x(at * span), viewport.x((at + 1) * span)];
      if (a > width) break;
      if (b - a < 0.5 && Math.floor(a) === pixel && at !== this.selected && at !== this.lit) continue;
      pixel = Math.floor(a);
      const filter = this.filters[at];
      const share = filter.fill ?? 0.5;
      context.fillStyle = filter.bytes === 0 ? colour("--track") : ramp(share);
      context.fillRect(a, FILTERS.top, Math.max(b - a - 1, 0.6), FILTERS.height);
      if (b - a > 40) {
        context.fillStyle = filter.bytes === 0 ? colour("--muted") : onRamp(share);
        context.font = `11px ${css("--sans")}`;
        context.fillText(filter.bytes === 0 ? "empty" : formatPercent(share, 0), Math.max(a, LEFT) + 5, FILTERS.top + FILTERS.height / 2);
      }
    }
    // The others are not coloured.
    const [rest, end] = [viewport.x(this.filters.length * span), viewport.x(this.count * span)];
    context.fillStyle = colour("--unknown");
    if (rest < width && end > rest) context.fillRect(rest, FILTERS.top, Math.min(end, width) - rest, FILTERS.height);
    for (const at of new Set([this.selected, this.lit])) {
      if (at === null) continue;
      const [a, b] = [viewport.x(at * span), viewport.x((at + 1) * span)];
      context.strokeStyle = colour(at === this.lit ? "--lit" : "--text");
      context.lineWidth = 3;
      context.strokeRect(a + 1, FILTERS.top - 1, Math.max(b - a - 3, 2), FILTERS.height + 2);
    }
    drawOffsets(context, viewport, BOTTOM);
    context.restore();
  }

  drawMap(context, width, height) {
    const { total } = this.viewport;
    context.fillStyle = colour("--kind-data");
    for (const block of this.blocks) {
      context.fillRect((block.offset / total) * width, 2, Math.max((block.length / total) * width - 0.3, 0.4), height / 2 - 3);
    }
    this.filters.forEach((filter, at) => {
      context.fillStyle = filter.bytes === 0 ? colour("--unknown") : ramp(filter.fill ?? 0.5);
      context.fillRect(((at * this.span) / total) * width, height / 2, Math.max((this.span / total) * width - 0.3, 0.4), height / 2 - 2);
    });
  }

  hover(x, y, event) {
    const at = x === null ? null : this.filterAt(x);
    if (at === null) return hideTooltip();
    const [title, ...lines] = this.describe(at);
    return showTooltip(event.clientX, event.clientY, h("strong", {}, title), lines.map((line) => h("div", {}, line)));
  }
}
