// The fill of a filter: a cell for each line or segment, coloured by its set bits.

import { button, h, replace } from "./dom.js";
import { bitsOf, counted, formatCount } from "./bytes.js";
import { colour, ramp } from "./colour.js";
import { rampBar } from "./chart.js";

const MARGIN = 5;

// Cells of lines, coloured by their set bits; the probed one is marked.
// `openProbed` shows the part that was probed, if it is another one.
export function showHeat(element, bits, probe, openProbed) {
  const { part } = bits;
  if (!part || part.cells.length === 0) {
    replace(element, h("p", { class: "muted" }, "This part has no bits to show."));
    return;
  }
  const columns = part.ribbon;
  const isBits = part.lines === 1 && part.line;
  const canvas = h("canvas", { class: "heat", role: "img", "aria-label":
    `${formatCount(part.lines)} ${columns ? "segments" : "lines"} of ${part.line_bits} bits, coloured by set bits` });
  const lit = probe?.part === part.index || (probe?.part ?? null) === null ? probe : null;
  const isElsewhere = probe && !lit;
  const index = lit?.answer?.place?.line?.index ?? lit?.answer?.place?.slots?.first_segment;
  const touched = touchedLines(lit?.answer);
  const text = part.lines_per_cell > 1 ? `Each cell is ${part.lines_per_cell} ${columns ? "segments" : "lines"}. ` : "";
  const half = part.line_bits / 2;
  // The colours span what there is, and not less than a tenth of a line: small differences stay small.
  const [least, most] = [Math.min(...part.cells), Math.max(...part.cells)];
  const spread = Math.max(most - least, part.line_bits / 10);
  const extent = [Math.max(0, (least + most - spread) / 2), Math.min(part.line_bits, (least + most + spread) / 2)];
  replace(element,
    h("p", { class: "muted" }, isBits
      ? `${bits.part_count > 1 ? `Filter ${formatCount(part.index)}: ` : ""}${formatCount(part.line_bits)} bits, a cell each.`
      : columns
        ? `${text}${formatCount(columns.blocks)} blocks of 128 slots; ${columns.upper_columns} columns from block ${formatCount(columns.upper_start_block)} on, ${columns.upper_columns - 1} before. About half of the bits are set, whatever the keys, and fewer in the last block.`
        : `${text}${counted(part.lines, "line")} of ${part.line_bits} bits. A full filter has about half of its bits set: ${half}.`),
    canvas,
    h("span", { class: "ramp-labels" }, h("span", {}, isBits ? "0" : `${counted(Math.round(extent[0]), "bit")} set`), rampBar(), h("span", {}, isBits ? "1" : `${counted(Math.round(extent[1]), "bit")} set`)),
    isElsewhere && h("p", { class: "lit-text" }, `The key is in part ${formatCount(probe.part)}. `, button("Show it", openProbed, { class: "linklike" })),
    index !== undefined && !isBits && h("p", { class: "lit-text" }, columns
      ? `The key's slots are in ${counted(touched.length, "segment")}, those of the columns of ${touched.includes(index + lit.answer.place.slots.columns) ? "two blocks" : "one block"} from segment ${formatCount(index)} on, of ${formatCount(part.lines)}.`
      : `The key's bits are in line ${formatCount(index)}, of ${formatCount(part.lines)} from 0 to ${formatCount(part.lines - 1)}.`));
  const draw = () => {
    if (isBits) drawCells(canvas, bitsOf(part.line), [0, 1], lit ? lit.answer.probes.map((it) => it.position) : []);
    else drawCells(canvas, part.cells, extent, [...new Set(touched.map((line) => Math.floor(line / part.lines_per_cell)))]);
  };
  draw();
  new ResizeObserver(draw).observe(canvas);
}

// The lines that a probe reads: one of a Bloom filter; of a Ribbon filter a segment of each probed column, and of
// the next block, unless the slots of the key are those of a block.
function touchedLines(answer) {
  const place = answer?.place;
  if (place?.line) return [place.line.index];
  if (!place?.slots) return [];
  const { start, first_segment: first, columns } = place.slots;
  return answer.probes.flatMap(({ position }) => [first + position, ...(start % 128 === 0 ? [] : [first + columns + position])]);
}

function drawCells(canvas, cells, [low, high], marked) {
  const width = canvas.clientWidth;
  if (width === 0) return;
  const size = Math.max(4, Math.min(18, Math.floor(Math.sqrt((width * 320) / cells.length))));
  // Room around the cells, for the marks.
  const perRow = Math.max(1, Math.floor((width - 2 * MARGIN) / size));
  const height = Math.ceil(cells.length / perRow) * size + 2 * MARGIN;
  canvas.style.height = `${height}px`;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.translate(MARGIN, MARGIN);
  cells.forEach((set, at) => {
    context.fillStyle = ramp((set - low) / (high - low || 1));
    context.fillRect((at % perRow) * size, Math.floor(at / perRow) * size, size - 1, size - 1);
  });
  context.lineWidth = 2.5;
  for (const at of marked) {
    const [x, y] = [(at % perRow) * size, Math.floor(at / perRow) * size];
    context.strokeStyle = colour("--lit");
    context.strokeRect(x - 1.5, y - 1.5, size + 2, size + 2);
    context.strokeStyle = colour("--text");
    context.lineWidth = 1;
    context.strokeRect(x - 3, y - 3, size + 5, size + 5);
    context.lineWidth = 2.5;
  }
}
