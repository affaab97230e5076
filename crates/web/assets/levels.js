// The files of a column family over the key axis: a row for each level, one for each run of level 0.

import { hideTooltip, announce, h, plain, replace, showTooltip } from "./dom.js";
import { colour, css, onRamp, ramp } from "./colour.js";
import { counted, formatBytes, formatCount, formatPercent, formatTime, shorten } from "./bytes.js";
import { Viewport } from "./viewport.js";

const ROW = 34;
const SUB_ROW = 20;
const GAP = 6;
const DEPTH = 44;
const LEFT = 92;
// The outline of a file on the path of a lookup.
const STATE_COLOURS = { found: "--good", part: "--lit", deleted: "--bad", read: "--accent", filtered: "--warn" };

// Files by row: levels are lists of { level, files }; a level whose files overlap has several rows.
export function arrange(levels) {
  const rows = [];
  for (const { level, size, files } of levels) {
    const tracks = [];
    // The tracks that are taken at each slot.
    const taken = new Int32Array(files.reduce((most, file) => Math.max(most, file.last + 1), 0));
    for (const file of files) {
      // Newer files come first, so a file is below all newer ones that it overlaps.
      let track = 0;
      for (let slot = file.first; slot <= file.last; slot += 1) track = Math.max(track, taken[slot]);
      taken.fill(track + 1, file.first, file.last + 1);
      (tracks[track] ??= []).push(file);
    }
    tracks.forEach((track, at) => rows.push({
      level, size, files: track, isFirst: at === 0, isLast: at === tracks.length - 1, isSub: tracks.length > 1,
    }));
  }
  return rows;
}

// Gives rows their places, and returns where they end.
function place(rows) {
  let y = 4;
  for (const row of rows) {
    row.y = y;
    row.height = row.isSub ? SUB_ROW : ROW;
    y += row.height + (row.isLast ? GAP : 2);
  }
  return y + 6;
}

export class LevelsMap {
  // `options`: axis, levels, tails (a Map by file number), onSelect(file), onOpen(file).
  constructor(options) {
    this.options = options;
    this.scaleBy = options.scaleBy ?? "bytes";
    this.colourBy = options.colourBy ?? "size";
    this.selected = null;
    this.lit = null;
    this.marked = new Set();
    this.slot = null;
    this.viewport = new Viewport({
      label: "Levels and files over the key axis",
      height: 100,
      total: 1,
      left: LEFT,
      draw: (context) => this.draw(context),
      drawMap: (context, width, height) => this.drawMap(context, width, height),
      onHover: (x, y, event) => this.hover(x, y, event),
      onSelect: (x, y, isDouble) => {
        if (x >= LEFT && y >= this.depthTop) return this.showRuns(this.slotAt(x));
        const file = this.fileAt(x, y);
        this.select(file);
        if (isDouble && file) this.options.onOpen?.(file);
        return undefined;
      },
      onKey: (by) => this.stepRuns(by),
      onStep: (by) => this.step(by),
      onOpen: () => this.selected && this.options.onOpen?.(this.selected),
    });
    this.runs = h("p", { class: "muted runs", role: "status" });
    this.element = h("div", {}, this.viewport.element, this.runs);
    this.show(options.axis, options.levels);
  }

  show(axis, levels) {
    this.axis = axis;
    this.rows = arrange(levels);
    this.depthTop = place(this.rows);
    this.measureDepth();
    this.runsSlot = null;
    replace(this.runs, this.most > 0 && `Up to ${counted(this.most, "run")} may have to be read for a key. Click below the levels, or press [ and ], to see how many for which keys.`);
    this.setScale(this.scaleBy);
    this.viewport.setHeight(this.depthTop + DEPTH + 22);
    if (!this.selected) return;
    // The selected file, if it is still there.
    const { number } = this.selected;
    this.selected = this.rows.flatMap((row) => row.files).find((file) => file.number === number) ?? null;
    this.options.onSelect?.(this.selected);
  }

  // How many runs a lookup may have to read, by slot.
  measureDepth() {
    const slots = this.axis.keys.length;
    const change = new Int32Array(slots + 1);
    for (const row of this.rows) {
      for (const file of row.files) {
        change[file.first] += 1;
        change[file.last + 1] -= 1;
      }
    }
    this.depth = new Int32Array(slots);
    let now = 0;
    this.most = 1;
    for (let slot = 0; slot < slots; slot += 1) {
      now += change[slot];
      this.depth[slot] = now;
      this.most = Math.max(this.most, now);
    }
  }

  // How many runs there are at the keys of a file.
  depthOf(file) {
    let [least, most] = [Infinity, 0];
    for (let slot = file.first; slot <= file.last; slot += 1) {
      least = Math.min(least, this.depth[slot]);
      most = Math.max(most, this.depth[slot]);
    }
    return least < most ? `${formatCount(least)} to ${formatCount(most)}` : formatCount(most);
  }

  // The runs at a slot, with a line through them.
  showRuns(slot) {
    if (slot < 0) return;
    this.runsSlot = slot;
    replace(this.runs, `${counted(this.depth[slot], "run")} may have to be read for a key from ${shorten(this.axis.keys[slot], 60)} on.`);
    this.viewport.reveal(this.edges[slot], this.edges[slot + 1]);
  }

  stepRuns(by) {
    const last = this.axis.keys.length - 1;
    if (last >= 0) this.showRuns(this.runsSlot === null ? (by > 0 ? 0 : last) : Math.max(0, Math.min(last, this.runsSlot + by)));
  }

  // Whether the number of keys is unknown for some filters, as it is for all of LevelDB: they are then compared by
  // their share of the file.
  isFilterByShare() {
    return this.rows.some((row) => row.files.some((file) => {
      const tail = this.options.tails?.get(file.number);
      return tail && !tail.problem && tail.filter !== "none" && !tail.filter_keys;
    }));
  }

  setScale(by) {
    this.scaleBy = by;
    const { keys, bytes } = this.axis;
    this.edges = new Float64Array(keys.length + 1);
    // Every slot is wide enough to be seen, however small its files.
    const least = by === "bytes" ? bytes.reduce((sum, it) => sum + it, 0) / Math.max(keys.length, 1) / 50 : 0;
    for (let slot = 0; slot < keys.length; slot += 1) {
      this.edges[slot + 1] = this.edges[slot] + (by === "bytes" ? Math.max(bytes[slot], least, 1) : 1);
    }
    this.viewport.setTotal(this.edges[keys.length]);
  }

  setColour(by) {
    this.colourBy = by;
    this.viewport.redraw();
  }

  // Lights up some files and leaves the others pale; `slot` is that of a key.
  light(states, slot) {
    this.lit = states;
    this.slot = slot;
    this.viewport.redraw();
  }

  // Outlines the files with these numbers.
  mark(numbers) {
    this.marked = new Set(numbers);
    this.viewport.redraw();
  }

  // A number of a file, for its colour; null if it is not known.
  quantity(file) {
    const tail = this.options.tails?.get(file.number);
    switch (this.colourBy) {
      case "size":
        return file.size;
      case "age":
        return file.created ?? tail?.created ?? file.largest_seq ?? file.number;
      case "filter":
        if (!tail || tail.problem) return null;
        if (tail.filter === "none") return 0;
        return this.isByShare ? tail.filter_bytes / Math.max(file.size, 1) : (8 * tail.filter_bytes) / tail.filter_keys;
      case "tombstones":
        return tail?.entries ? (tail.deletions ?? 0) / tail.entries : null;
      default:
        return null;
    }
  }

  extent() {
    this.isByShare = this.colourBy === "filter" && this.isFilterByShare();
    let [low, high] = [Infinity, -Infinity];
    for (const row of this.rows) {
      for (const file of row.files) {
        const quantity = this.quantity(file);
        if (quantity === null) continue;
        low = Math.min(low, quantity);
        high = Math.max(high, quantity);
      }
    }
    if (!Number.isFinite(high)) return [NaN, NaN];
    if (this.colourBy === "size") low = 0;
    if (this.colourBy === "tombstones") [low, high] = [0, Math.max(high, 0.1)];
    if (this.colourBy === "filter") [low, high] = [0, Math.max(high, this.isByShare ? 0.01 : 10)];
    return [low, high];
  }

  describeExtent() {
    const [low, high] = this.extent();
    if (!Number.isFinite(low)) return ["", ""];
    switch (this.colourBy) {
      case "size":
        return [formatBytes(low), formatBytes(high)];
      case "filter":
        return ["no filter", this.isByShare ? `${formatPercent(high)} of the file` : `${high.toFixed(1)} bits per key`];
      case "tombstones":
        return ["none", formatPercent(high)];
      default:
        return high > 1e9 && low > 1e9 ? [formatTime(low), formatTime(high)] : ["oldest", "newest"];
    }
  }

  draw(context) {
    const { viewport } = this;
    const [low, high] = this.extent();
    const width = viewport.canvas.clientWidth;
    context.save();
    context.beginPath();
    context.rect(LEFT - 1, 0, width - LEFT + 1, viewport.options.height);
    context.clip();
    for (const row of this.rows) this.drawRow(context, row, low, high, width);
    this.drawDepth(context, width);
    this.drawKeys(context, width);
    for (const slot of [this.slot, this.runsSlot]) {
      if (slot !== null && slot !== undefined && slot >= 0) this.drawLine(context, slot);
    }
    context.restore();
    for (const row of this.rows.filter((it) => it.isFirst)) {
      context.fillStyle = colour("--text");
      context.font = `600 13px ${css("--sans")}`;
      context.fillText(`Level ${row.level}`, 2, row.y + 8);
      context.fillStyle = colour("--muted");
      context.font = `11px ${css("--sans")}`;
      context.fillText(formatBytes(row.size), 2, row.y + 23);
    }
    context.fillStyle = colour("--muted");
    context.font = `11px ${css("--sans")}`;
    context.fillText("Runs at a key", 2, this.depthTop + 8);
    context.fillText(`up to ${this.most}`, 2, this.depthTop + 23);
  }

  drawRow(context, row, low, high, width) {
    context.fillStyle = colour("--track");
    context.fillRect(LEFT, row.y, width - LEFT, row.height);
    const { viewport } = this;
    let last = -1;
    for (const file of row.files) {
      const [a, b] = [viewport.x(this.edges[file.first]), viewport.x(this.edges[file.last + 1])];
      if (b < LEFT || a > width) continue;
      // Thousands of files in a pixel are drawn once.
      if (b - a < 0.5 && Math.floor(a * 2) === last && file !== this.selected && !this.lit?.has(file.number)) continue;
      last = Math.floor(a * 2);
      const quantity = this.quantity(file);
      // The root of a size: small files differ, too.
      const linear = quantity === null ? 0 : (quantity - low) / (high - low || 1);
      const share = this.colourBy === "size" ? Math.sqrt(Math.max(linear, 0)) : linear;
      const state = this.lit?.get(file.number);
      const isPale = this.lit && !state;
      context.globalAlpha = isPale ? 0.25 : 1;
      context.fillStyle = quantity === null ? colour("--unknown") : ramp(share);
      const wide = Math.max(b - a - (b - a > 3 ? 1 : 0), 0.5);
      context.fillRect(a, row.y, wide, row.height);
      if (this.options.tails?.get(file.number)?.problem) {
        context.fillStyle = colour("--bad");
        context.fillRect(a, row.y, Math.max(wide, 3), 5);
      }
      if (state) {
        context.strokeStyle = colour(STATE_COLOURS[state]);
        context.lineWidth = 3;
        context.strokeRect(a + 1.5, row.y + 1.5, Math.max(wide - 3, 1), row.height - 3);
      }
      if (file === this.selected || this.marked.has(file.number)) {
        context.strokeStyle = colour(file === this.selected ? "--accent" : "--lit");
        context.lineWidth = 3;
        context.strokeRect(a + 0.5, row.y + 1, Math.max(wide - 1, 2), row.height - 2);
      }
      if (wide > 46) {
        context.fillStyle = quantity === null ? colour("--text") : onRamp(share);
        context.font = `11px ${css("--mono")}`;
        const at = Math.max(a, LEFT) + 5;
        const name = String(file.number).padStart(6, "0");
        if (b - at > 46) context.fillText(name, at, row.y + row.height / 2);
      }
      context.globalAlpha = 1;
    }
  }

  drawDepth(context, width) {
    const { viewport, depthTop } = this;
    const base = depthTop + DEPTH;
    context.fillStyle = colour("--depth");
    context.beginPath();
    context.moveTo(LEFT, base);
    for (let slot = 0; slot < this.depth.length; slot += 1) {
      const [a, b] = [viewport.x(this.edges[slot]), viewport.x(this.edges[slot + 1])];
      if (b < LEFT || a > width) continue;
      const y = base - (this.depth[slot] / this.most) * (DEPTH - 2);
      context.lineTo(a, y);
      context.lineTo(b, y);
    }
    context.lineTo(width, base);
    context.fill();
    context.strokeStyle = colour("--border");
    context.lineWidth = 1;
    context.strokeRect(LEFT, depthTop, width - LEFT, DEPTH);
  }

  drawKeys(context, width) {
    const y = this.depthTop + DEPTH + 11;
    context.fillStyle = colour("--muted");
    context.font = `11px ${css("--mono")}`;
    const { keys } = this.axis;
    let free = LEFT;
    for (let slot = this.slotAt(LEFT); slot >= 0 && slot < keys.length; slot += 1) {
      const x = Math.max(this.viewport.x(this.edges[slot]), LEFT);
      if (x > width) break;
      if (x < free) continue;
      const text = plain(shorten(keys[slot], 22));
      const wide = context.measureText(text).width;
      if (x + wide > width) break;
      context.fillText(text, x, y);
      free = x + wide + 40;
    }
  }

  drawLine(context, slot) {
    const x = (this.viewport.x(this.edges[slot]) + this.viewport.x(this.edges[slot + 1])) / 2;
    context.strokeStyle = colour("--accent");
    context.lineWidth = 2;
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, this.depthTop + DEPTH);
    context.stroke();
    context.setLineDash([]);
  }

  drawMap(context, width, height) {
    const rows = Math.max(this.rows.length, 1);
    this.rows.forEach((row, at) => {
      context.fillStyle = colour("--minimap");
      for (const file of row.files) {
        const [a, b] = [this.edges[file.first], this.edges[file.last + 1]];
        const total = this.viewport.total;
        context.fillRect((a / total) * width, (at / rows) * height + 0.5,
          Math.max(((b - a) / total) * width - 0.3, 0.4), height / rows - 1);
      }
    });
  }

  slotAt(x) {
    const value = this.viewport.value(x);
    let [low, high] = [0, this.axis.keys.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.edges[middle] <= value) low = middle;
      else high = middle - 1;
    }
    return this.axis.keys.length === 0 ? -1 : low;
  }

  fileAt(x, y) {
    const row = this.rows.find((it) => y >= it.y && y < it.y + it.height);
    if (!row || x < LEFT) return null;
    const slot = this.slotAt(x);
    return row.files.find((file) => file.first <= slot && slot <= file.last) ?? null;
  }

  describe(file) {
    const tail = this.options.tails?.get(file.number);
    const level = this.rows.find((row) => row.files.includes(file))?.level;
    const { keys } = this.axis;
    const lines = [
      [`Table ${file.number}`, `level ${level}, ${formatBytes(file.size)}`],
      ["from", shorten(keys[file.first] ?? "")],
      ["to", shorten(keys[file.last] ?? "")],
    ];
    if (file.largest_seq !== null && file.largest_seq !== undefined) lines.push(["largest seq", formatCount(file.largest_seq)]);
    lines.push(["runs at its keys", this.depthOf(file)]);
    if (tail?.problem) return [...lines, ["problem", tail.problem]];
    if (tail?.entries) lines.push(["entries", `${formatCount(tail.entries)}, ${formatCount(tail.deletions ?? 0)} deletions`]);
    if (tail) lines.push(["filter", tail.filter === "none" ? "none" : `${tail.filter}, ${formatBytes(tail.filter_bytes)}`]);
    return lines;
  }

  hover(x, y, event) {
    const file = x === null ? null : this.fileAt(x, y);
    if (file) {
      const [[title, size], ...rest] = this.describe(file);
      showTooltip(event.clientX, event.clientY, h("strong", {}, title), ` ${size}`,
        rest.map(([name, value]) => h("div", {}, h("span", { class: "muted" }, `${name} `), value)));
    } else if (x !== null && x >= LEFT && y >= this.depthTop) {
      const slot = this.slotAt(x);
      if (slot < 0) return hideTooltip();
      showTooltip(event.clientX, event.clientY, h("strong", {}, counted(this.depth[slot], "run")),
        " may have to be read for a key from", h("div", {}, shorten(this.axis.keys[slot])));
    } else {
      hideTooltip();
    }
    return undefined;
  }

  select(file) {
    this.selected = file;
    if (file) {
      this.viewport.reveal(this.edges[file.first], this.edges[file.last + 1]);
      announce(this.describe(file).map((line) => line.join(" ")).join(", "));
    } else {
      this.viewport.redraw();
    }
    this.options.onSelect?.(file);
  }

  step(by) {
    const files = this.rows.flatMap((row) => row.files);
    if (files.length === 0) return;
    const at = files.indexOf(this.selected);
    this.select(files[(at + by + files.length + (at < 0 && by < 0 ? 1 : 0)) % files.length]);
  }
}
