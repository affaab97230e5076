// What another filter of a table would cost: curves of all kinds, and a point to move.

import { h, replace, select } from "./dom.js";
import { counted, formatBytes, formatRate } from "./bytes.js";
import { getJson } from "./data.js";
import { colour } from "./colour.js";
import { curves, lineLegend } from "./chart.js";

// Keys of a filter whose number of keys is not known.
const KEYS = 1000000;
// The most that the server computes for.
const MAX_KEYS = 2 ** 40;

export const KIND_NAMES = {
  leveldb_bloom: "LevelDB Bloom",
  block_based_bloom: "Block-based Bloom",
  legacy_bloom: "Legacy Bloom",
  fast_local_bloom: "Cache-local Bloom",
  ribbon128: "Ribbon",
  always_true: "Always true",
  always_false: "Empty",
  unknown: "Unknown",
  none: "None",
};

// Policies with whole bits per key only.
const WHOLE_BITS = ["legacy_bloom", "leveldb_bloom"];

// Curves of all kinds, the filter as it is, and what it would be.
export async function showWhatIf(element, { source, bits, signal, isCurrent }) {
  const { report } = bits;
  // Of a filter block, the keys are in many small filters.
  const filters = bits.layout === "block" ? bits.filled_parts : undefined;
  let what;
  try {
    what = await getJson(`/${source}/whatif.json`, { keys: Math.min(report.keys ?? KEYS, MAX_KEYS), filters }, signal);
  } catch (error) {
    if (error.name !== "AbortError") replace(element, h("p", { class: "muted" }, error.message));
    return;
  }
  if (!isCurrent()) return;
  const { keys } = what;
  // A filter block has an offset for each empty filter, too, and five bytes at its end.
  const overhead = filters === undefined ? 0 : 4 * (bits.part_count - filters) + 5;
  const bytesOf = (of, point) => point.bytes + (of === "leveldb_bloom" ? overhead : 0);
  const bitsOf = (of, point) => (8 * bytesOf(of, point)) / keys;
  const colours = { fast_local_bloom: "--kind-data", ribbon128: "--kind-filter", legacy_bloom: "--kind-properties", leveldb_bloom: "--kind-index" };
  const dashes = { fast_local_bloom: "", ribbon128: "8 3", legacy_bloom: "2 3", leveldb_bloom: "10 3 2 3" };
  const list = what.curves.map((curve) => ({
    name: KIND_NAMES[curve.kind], colour: colour(colours[curve.kind]), dash: dashes[curve.kind],
    points: curve.points.map((point) => [bitsOf(curve.kind, point), point.rate]),
  }));
  const mark = report.bits_per_key && report.expected_fpr ? [report.bits_per_key, report.expected_fpr] : null;
  const chart = curves("False-positive rate by bits per key, and by memory", list, mark,
    `bits per key that the filter takes, and memory for ${counted(keys, "key")}`, "rate", (perKey) => formatBytes((perKey * keys) / 8));
  const result = h("output", { class: "what-if-result", "aria-live": "polite" });
  const kind = Object.hasOwn(colours, report.kind) ? report.kind : "fast_local_bloom";
  const pointsOf = (of) => what.curves.find((it) => it.kind === of).points;
  // Filters of the same kind and size have the same policy; small ones are equally large with several policies,
  // and then the rate tells.
  const distance = (point) => 100 * Math.abs(Math.log(bytesOf(kind, point) / report.bytes)) + Math.abs(Math.log(point.rate / report.expected_fpr));
  const isKnown = report.expected_fpr && report.bytes > 0;
  const nearest = isKnown && pointsOf(kind).reduce((best, it) => (distance(it) < distance(best) ? it : best));
  const state = { kind, bits: nearest ? nearest.policy_bits : 10 };
  const slider = h("input", { type: "range", min: "2", max: "24", step: "0.5", value: String(state.bits), "aria-label": "Bits per key of the policy" });
  const update = () => {
    const point = pointsOf(state.kind).reduce((best, it) => (Math.abs(it.policy_bits - state.bits) < Math.abs(best.policy_bits - state.bits) ? it : best));
    const bytes = bytesOf(state.kind, point);
    const change = report.bytes > 0 ? `, ${bytes >= report.bytes ? "+" : "−"}${formatBytes(Math.abs(bytes - report.bytes))}` : "";
    const rate = report.expected_fpr ? ` instead of ${formatRate(report.expected_fpr)}` : "";
    replace(result, h("strong", {}, `${KIND_NAMES[state.kind]}, ${point.policy_bits} bits per key`),
      `: ${formatBytes(bytes)} for ${counted(keys, "key")}${filters === undefined || state.kind !== "leveldb_bloom" ? "" : ` in ${counted(filters, "filter")}`}${change}; false-positive rate ${formatRate(point.rate)}${rate}`);
    chart.choose([bitsOf(state.kind, point), point.rate]);
    slider.step = WHOLE_BITS.includes(state.kind) ? "1" : "0.5";
    slider.setAttribute("aria-valuetext", `${point.policy_bits} bits per key`);
  };
  slider.addEventListener("input", () => {
    state.bits = Number(slider.value);
    update();
  });
  replace(element,
    h("div", { class: "toolbar" },
      select("Kind", what.curves.map((it) => [it.kind, KIND_NAMES[it.kind]]), state.kind, (to) => {
        state.kind = to;
        update();
        state.bits = Number(slider.value);
      }),
      h("label", { class: "field wide" }, h("span", {}, "Bits per key"), slider)),
    result,
    chart.element,
    lineLegend(list));
  update();
}
