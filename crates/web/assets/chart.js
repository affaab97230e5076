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
  return h("ul", { class: "legend" }, items.map(([colour, text]) =>
    h("li", {}, h("span", { class: "swatch", style: { background: colour } }), text)));
}

// The same for lines: items are { colour, dash, name }.
export function lineLegend(items) {
  return h("ul", { class: "legend" }, items.map(({ colour, dash, name }) =>
    h("li", {}, svg("svg", { class: "line-swatch", width: 28, height: 10, "aria-hidden": "true" },
      svg("line", { x1: 0, x2: 28, y1: 5, y2: 5, stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dash })), name)));
}

const HEIGHT = 240;
const BINS = 48;
// Below the axis are its numbers, perhaps a second line of them.
const PAD = { left: 56, right: 16, top: 12, bottom: 34 };
// The width of a character of a label, about.
const CHARACTER = 6.6;

// A chart as wide as its place, so that its texts keep their size: `draw(width)` returns its parts. The title of its
// axis is a paragraph, which has several lines where it is narrow.
function plot(label, xTitle, draw) {
  const place = h("div", { class: "chart-place" });
  const element = h("div", {}, place, h("p", { class: "axis-title" }, xTitle));
  const redraw = () => {
    const width = place.clientWidth;
    if (width === 0) return;
    place.replaceChildren(svg("svg",
      { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": label }, draw(width)));
  };
  new ResizeObserver(redraw).observe(place);
  return { element, redraw };
}

// A label at a place of the axis, whole at its ends, too.
function tickLabel(width, x, y, text) {
  const half = (CHARACTER * text.length) / 2;
  const at = Math.max(half, Math.min(x, width - half));
  return svg("text", { x: at, y, "text-anchor": "middle" }, text);
}

function scale(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

function axes(width, x, y, xTicks, yTicks, yTitle) {
  const bottom = HEIGHT - PAD.bottom;
  return [
    svg("g", { class: "grid" }, yTicks.map(([value]) =>
      svg("line", { x1: PAD.left, x2: width - PAD.right, y1: y(value), y2: y(value) }))),
    svg("g", { class: "ticks" },
      xTicks.map(([value, text, below]) => [
        tickLabel(width, x(value), bottom + 15, text),
        below && tickLabel(width, x(value), bottom + 28, below)]),
      yTicks.map(([value, text]) =>
        svg("text", { x: PAD.left - 6, y: y(value) + 4, "text-anchor": "end" }, text)),
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
  return plot(label, xTitle, (width) => {
    const x = scale(low, low + bins.length * size, PAD.left, width - PAD.right);
    const y = scale(0, most * 1.05, HEIGHT - PAD.bottom, PAD.top);
    const wide = x(size) - x(0);
    const bars = bins.filter((bin) => bin.count > 0).map((bin) =>
      svg("rect", { class: "bar", x: x(bin.from) + 0.5, width: Math.max(wide - 1, 0.6), y: y(bin.count),
        height: HEIGHT - PAD.bottom - y(bin.count) },
      svg("title", {}, `${bin.count} with ${bin.from}${size > 1 ? ` to ${bin.from + size - 1}` : ""}`)));
    const points = bins.map((bin) => `${(x(bin.from) + wide / 2).toFixed(1)},${y(bin.expected).toFixed(1)}`);
    return [
      axes(width, x, y, niceTicks(low, high, tickCount(width)), niceTicks(0, most, 4).filter(([at]) => Number.isInteger(at)), yTitle),
      svg("g", {}, bars),
      expected && svg("polyline", { class: "expected", points: points.join(" ") }),
    ];
  }).element;
}

// A share as a label of a logarithmic axis.
function powerLabel(power) {
  if (power < -6) return `1e${power + 2}%`;
  return `${power >= -2 ? 10 ** (power + 2) : (10 ** (power + 2)).toFixed(-power - 2)}%`;
}

// Curves over a logarithmic axis. `list` are { name, colour, dash, points: [[x, y]] }; `mark` is [x, y], what is
// there now; `below(x)` is a second label of the axis. Returns the element, and `choose([x, y])`, which moves
// another mark.
export function curves(label, list, mark, xTitle, yTitle, below) {
  const all = list.flatMap((curve) => curve.points).concat(mark ? [mark] : []);
  const [low, high] = [Math.min(...all.map(([at]) => at)), Math.max(...all.map(([at]) => at))];
  const logs = all.map(([, rate]) => Math.log10(Math.max(rate, 1e-9)));
  const [deep, up] = [Math.floor(Math.min(...logs)), 0];
  let chosen = null;
  const { element, redraw } = plot(label, xTitle, (width) => {
    const x = scale(low, high, PAD.left, width - PAD.right);
    const log = scale(deep, up, HEIGHT - PAD.bottom, PAD.top);
    const y = (rate) => log(Math.log10(Math.max(rate, 1e-9)));
    const ticks = [];
    for (let power = deep; power <= up; power += 1) ticks.push([10 ** power, powerLabel(power)]);
    const marked = (name, [at, rate], kind, down) => [
      svg("circle", { class: kind, cx: x(at), cy: y(rate), r: 6 }),
      // Left of the mark, where there is no room at its right.
      x(at) + 10 + CHARACTER * name.length < width
        ? svg("text", { class: "mark-text", x: x(at) + 10, y: y(rate) + down }, name)
        : svg("text", { class: "mark-text", x: x(at) - 10, y: y(rate) + down, "text-anchor": "end" }, name)];
    const isApart = chosen && !(mark && Math.hypot(x(chosen[0]) - x(mark[0]), y(chosen[1]) - y(mark[1])) < 8);
    return [
      axes(width, x, y, niceTicks(low, high, tickCount(width)).map(([at, text]) => [at, text, below?.(at)]), ticks, yTitle),
      list.map((curve) =>
        svg("polyline", {
          class: "curve",
          stroke: curve.colour,
          "stroke-dasharray": curve.dash,
          points: curve.points.map(([at, rate]) => `${x(at).toFixed(1)},${y(rate).toFixed(1)}`).join(" "),
        }, svg("title", {}, curve.name))),
      mark && marked("now", mark, "mark", -8),
      isApart && marked("what if", chosen, "mark chosen", 18),
    ];
  });
  const choose = (point) => {
    chosen = point;
    redraw();
  };
  return { element, choose };
}
