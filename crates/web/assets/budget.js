// The memory of all filters of a database, distributed over its levels as `sst advise` does.

import { h, replace, row, table } from "./dom.js";
import { formatBytes, formatCount, formatRate } from "./bytes.js";
import { getJson, isReport } from "./data.js";
import { KIND_NAMES } from "./what_if.js";

export async function showBudget(element, { source, signal, isCurrent }) {
  const load = async (params) => {
    try {
      const budget = await getJson(`/${source}/budget.json`, params, signal);
      return isCurrent() ? budget : null;
    } catch (error) {
      if (error.name !== "AbortError") replace(element, h("p", { class: "muted" }, error.message));
      return null;
    }
  };
  const first = await load({});
  if (!first) return;
  if (first.levels.length === 0) {
    replace(element, h("p", { class: "muted" }, "The database has no tables."));
    return;
  }
  const now = first.now.filter_bytes;
  const most = 3 * (now || first.plan.filter_bytes || 1);
  const slider = h("input", { type: "range", min: "0", max: "60", value: "20", "aria-label": "Memory of all filters" });
  const result = h("div", { "aria-live": "polite" });
  const show = (budget) => {
    slider.setAttribute("aria-valuetext", formatBytes(budget.plan.filter_bytes));
    replace(result, summary(budget), levelTable(budget), commands(budget.plan));
  };
  slider.addEventListener("input", async () => {
    const budget = await load({ bytes: Math.round((most * Number(slider.value)) / 60) });
    if (budget) show(budget);
  });
  show(first);
  replace(element,
    !isReport() && h("label", { class: "field wide" }, h("span", {}, `Memory of all filters, up to ${formatBytes(most)}`), slider),
    result);
}

function summary({ now, plan }) {
  return h("p", {}, h("strong", {}, `${formatBytes(plan.filter_bytes)} instead of ${formatBytes(now.filter_bytes)}`),
    `: ${formatReads(plan.wasted_reads)} data blocks read needlessly by a lookup of an absent key, instead of ${formatReads(now.wasted_reads)}.`);
}

function levelTable({ levels, plan }) {
  const hasFamilies = levels.some((it) => it.column_family !== levels[0].column_family);
  const heads = [hasFamilies && "Column family", "Level", "Files", "Filters now", "Bits per key now", "Rate now", "Best policy", "Bytes", "Rate"].filter(Boolean);
  return table("Filters by level", heads, levels.map((it, at) => {
    const best = plan.levels[at];
    const cells = [it.level, formatCount(it.files), it.kinds.map((kind) => KIND_NAMES[kind] ?? kind).join(", "),
      it.bits_per_key.toFixed(2), rate(it.fpr), h("code", {}, best.policy ?? "as it is"), formatBytes(best.filter_bytes), rate(best.fpr)];
    return row(...(hasFamilies ? [it.column_family, ...cells] : cells));
  }));
}

// How to get these filters.
function commands({ refilter }) {
  return refilter && [h("p", { class: "muted" }, "This command writes a database with these filters:"), h("pre", {}, refilter)];
}

function rate(fpr) {
  return fpr === null ? "unknown" : fpr >= 1 ? "no filter" : formatRate(fpr);
}

function formatReads(reads) {
  return reads === null ? "an unknown number of" : reads.toPrecision(3);
}
