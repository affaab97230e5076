// What another filter of a table would cost: curves of all kinds, and a point to move.

import { h, replace, select } from "./dom.js";
import { counted, formatBytes, formatCount, formatRate } from "./bytes.js";
import { getJson } from "./data.js";
import { colour } from "./colour.js";
import { curves, lineLegend } from "./chart.js";

// Keys of a filter whose number of keys is not known.
const KEYS = 1000000;

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

// Curves of all kinds, the filter as it is, and what it would be.
export async function showWhatIf(element, { source, report, signal, isCurrent }) {
  const keys = report.keys ?? KEYS;
  let what;
  try {
    what = await getJson(`/${source}/whatif.json`, { keys }, signal);
  } catch (error) {
    if (error.name !== "AbortError") replace(element, h("p", { class: "muted" }, error.message));
    return;
  }
  if (!isCurrent()) return;
  const colours = { fast_local_bloom: "--kind-data", ribbon128: "--kind-filter", legacy_bloom: "--kind-properties", leveldb_bloom: "--kind-index" };
  const dashes = { fast_local_bloom: "", ribbon128: "8 3", legacy_bloom: "2 3", leveldb_bloom: "10 3 2 3" };
  const list = what.curves.map((curve) => ({
    name: KIND_NAMES[curve.kind], colour: colour(colours[curve.kind]), dash: dashes[curve.kind],
    points: curve.points.filter((point) => point.bits_per_key <= 24).map((point) => [point.bits_per_key, point.rate]),
  }));
  const mark = report.bits_per_key && report.expected_fpr ? [Math.min(report.bits_per_key, 24), report.expected_fpr] : null;
  const bytesOf = (bitsPerKey) => (bitsPerKey * keys) / 8;
  const chart = curves("False-positive rate by bits per key, and by memory", list, mark,
    `bits per key that the filter takes, and memory for ${counted(keys, "key")}`, "rate", (bits) => formatBytes(bytesOf(bits)));
  const result = h("output", { class: "what-if-result", "aria-live": "polite" });
  const kind = Object.hasOwn(colours, report.kind) ? report.kind : "fast_local_bloom";
  // A Ribbon filter takes fewer bits than its policy says, and filters of few keys take more: the rate
  // tells the policy.
  const { points } = what.curves.find((it) => it.kind === kind);
  const distance = (point) => Math.abs(Math.log(point.rate / report.expected_fpr));
  const nearest = report.expected_fpr && points.reduce((best, it) => (distance(it) < distance(best) ? it : best));
  const state = { kind, bits: nearest ? nearest.policy_bits : 10 };
  const slider = h("input", { type: "range", min: "2", max: "24", step: "0.5", value: String(state.bits), "aria-label": "Bits per key of the policy" });
  const update = () => {
    const curve = what.curves.find((it) => it.kind === state.kind);
    const point = curve.points.reduce((best, it) => (Math.abs(it.policy_bits - state.bits) < Math.abs(best.policy_bits - state.bits) ? it : best));
    const bytes = bytesOf(point.bits_per_key);
    const change = report.bytes > 0 ? `, ${bytes >= report.bytes ? "+" : "−"}${formatBytes(Math.abs(bytes - report.bytes))}` : "";
    const rate = report.expected_fpr ? ` instead of ${formatRate(report.expected_fpr)}` : "";
    replace(result, h("strong", {}, `${KIND_NAMES[state.kind]}, ${point.policy_bits} bits per key`),
      `: ${formatBytes(bytes)} for ${formatCount(keys)} keys${change}; false-positive rate ${formatRate(point.rate)}${rate}`);
    chart.choose([Math.min(point.bits_per_key, 24), point.rate]);
    slider.setAttribute("aria-valuetext", `${state.bits} bits per key`);
  };
  slider.addEventListener("input", () => {
    state.bits = Number(slider.value);
    update();
  });
  replace(element,
    h("div", { class: "toolbar" },
      select("Kind", what.curves.map((it) => [it.kind, KIND_NAMES[it.kind]]), state.kind, (kind) => {
        state.kind = kind;
        update();
      }),
      h("label", { class: "field wide" }, h("span", {}, "Bits per key"), slider)),
    result,
    chart.element,
    lineLegend(list));
  update();
}
