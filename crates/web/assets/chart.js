// Small charts as SVG: bars of parts, a histogram with its expectation, curves.

import { h, svg } from "./dom.js";
import { ramp } from "./colour.js";

// Horizontal bars, one a row, each of several parts: rows are { label, parts: [{ value, colour, name }], text }.
export function partBars(label, rows) {
  const most = Math.max(1, ...rows.map((row) => row.parts.reduce((sum, part) => sum + part.value, 0)));
  return h(
    "div",
    { class: "bars", role: "list", "aria-label": label },
    rows.map((row) =>
      h(
        "div",
        { class: "bar-row", role: "listitem" },
        h("span", { class: "bar-label" }, row.label),
        h(
          "span",
          { class: "bar-track", "aria-hidden": "true" },
          row.parts.map((part) =>
            h("span", {
              class: "bar-part",
              title: part.name,
              style: { width: `${(100 * part.value) / most}%`, background: part.colour },
            }),
          ),
        ),
        h("span", { class: "bar-text" }, row.text),
      ),
    ),
  );
}

// The colours of quantities, from few to many.
export function rampBar() {
  const stops = [0, 0.25, 0.5, 0.75, 1].map(ramp).join(",");
  return h("span", { class: "ramp", "aria-hidden": "true", style: { background: `linear-gradient(90deg, ${stops})` } });
}

export function legend(items) {
  return h(
    "ul",
    { class: "legend" },
    items.map(([colour, text]) =>
      h("li", {}, h("span", { class: "swatch", style: { background: colour } }), text),
    ),
  );
}

const HEIGHT = 240;
const BINS = 48;
const PAD = { left: 56, right: 16, top: 12, bottom: 34 };

// A chart as wide as its place, so that its texts keep their size: `draw(width)` returns its parts.
function plot(label, draw) {
  const holder = h("div", { class: "chart-place" });
  const show = () => {
    const width = holder.clientWidth;
    if (width === 0) return;
    holder.replaceChildren(svg("svg",
      { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": label }, draw(width)));
  };
  new ResizeObserver(show).observe(holder);
  return holder;
}

function scale(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

function axes(width, x, y, xTicks, yTicks, xTitle, yTitle) {
  const bottom = HEIGHT - PAD.bottom;
  return [
    svg("g", { class: "grid" }, yTicks.map(([value]) =>
      svg("line", { x1: PAD.left, x2: width - PAD.right, y1: y(value), y2: y(value) }))),
    svg("g", { class: "ticks" },
      xTicks.map(([value, text]) =>
        svg("text", { x: x(value), y: bottom + 15, "text-anchor": "middle" }, text)),
      yTicks.map(([value, text]) =>
        svg("text", { x: PAD.left - 6, y: y(value) + 4, "text-anchor": "end" }, text)),
      svg("text", { x: (PAD.left + width - PAD.right) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, xTitle),
      svg("text", { x: 12, y: (PAD.top + bottom) / 2, "text-anchor": "middle",
        transform: `rotate(-90 12 ${(PAD.top + bottom) / 2})` }, yTitle)),
  ];
}

function tickCount(width) {
  return Math.max(3, Math.min(8, Math.floor(width / 70)));
}

function niceTicks(low, high, count) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((by) => by * power).find((by) => by >= raw);
  const ticks = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) {
    ticks.push([at, String(Math.round(at * 1e6) / 1e6)]);
  }
  return ticks;
}

// Counts by number of set bits, and what is expected.
export function histogram(label, counts, expected, xTitle, yTitle) {
  const seen = (i) => counts[i] > 0 || (expected?.[i] ?? 0) > 0.05;
  let [low, high] = [0, counts.length - 1];
  while (low < high && !seen(low)) low += 1;
  while (high > low && !seen(high)) high -= 1;
  // Neighbouring numbers are counted together, so that few lines make a shape, too.
  const size = Math.max(1, Math.ceil((high - low + 1) / BINS));
  const bins = [];
  for (let from = low; from <= high; from += size) {
    const sum = (list) => list.slice(from, Math.min(from + size, high + 1)).reduce((total, it) => total + it, 0);
    bins.push({ from, count: sum(counts), expected: expected ? sum(expected) : 0 });
  }
  const most = Math.max(1, ...bins.map((bin) => Math.max(bin.count, bin.expected)));
  return plot(label, (width) => {
    const x = scale(low, low + bins.length * size, PAD.left, width - PAD.right);
    const y = scale(0, most * 1.05, HEIGHT - PAD.bottom, PAD.top);
    const wide = x(size) - x(0);
    const bars = bins.filter((bin) => bin.count > 0).map((bin) =>
      svg("rect", { class: "bar", x: x(bin.from) + 0.5, width: Math.max(wide - 1, 0.6), y: y(bin.count),
        height: HEIGHT - PAD.bottom - y(bin.count) },
      svg("title", {}, `${bin.count} with ${bin.from}${size > 1 ? ` to ${bin.from + size - 1}` : ""}`)));
    const points = bins.map((bin) => `${(x(bin.from) + wide / 2).toFixed(1)},${y(bin.expected).toFixed(1)}`);
    return [
      axes(width, x, y, niceTicks(low, high, tickCount(width)), niceTicks(0, most, 4).filter(([at]) => Number.isInteger(at)), xTitle, yTitle),
      svg("g", {}, bars),
      expected && svg("polyline", { class: "expected", points: points.join(" ") }),
    ];
  });
}

// Curves over a logarithmic axis. `curves` are { name, colour, dash, points: [[x, y]] }; `mark` is [x, y].
export function curves(label, list, mark, xTitle, yTitle) {
  const all = list.flatMap((curve) => curve.points).concat(mark ? [mark] : []);
  const [low, high] = [Math.min(...all.map(([at]) => at)), Math.max(...all.map(([at]) => at))];
  const logs = all.map(([, rate]) => Math.log10(Math.max(rate, 1e-9)));
  const [deep, up] = [Math.floor(Math.min(...logs)), 0];
  return plot(label, (width) => {
    const x = scale(low, high, PAD.left, width - PAD.right);
    const log = scale(deep, up, HEIGHT - PAD.bottom, PAD.top);
    const y = (rate) => log(Math.log10(Math.max(rate, 1e-9)));
    const ticks = [];
    for (let power = deep; power <= up; power += 1) ticks.push([10 ** power, power < -3 ? `1e${power}` : `${10 ** power * 100}%`]);
    return [
      axes(width, x, y, niceTicks(low, high, tickCount(width)), ticks, xTitle, yTitle),
      list.map((curve) =>
        svg("polyline", {
          class: "curve",
          stroke: curve.colour,
          "stroke-dasharray": curve.dash,
          points: curve.points.map(([at, rate]) => `${x(at).toFixed(1)},${y(rate).toFixed(1)}`).join(" "),
        }, svg("title", {}, curve.name))),
      mark && svg("circle", { class: "mark", cx: x(mark[0]), cy: y(mark[1]), r: 6 }),
      mark && svg("text", { class: "mark-text", x: x(mark[0]) + 10, y: y(mark[1]) - 8 }, "now"),
    ];
  });
}
