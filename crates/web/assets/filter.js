// The filter of a table: its size and rate, its fill, a probe, and what other filters would cost.

import { badge, button, card, facts, h, problem, replace } from "./dom.js";
import { counted, formatBytes, formatCount, formatPercent, formatRate, shortName } from "./bytes.js";
import { getJson, isReport } from "./data.js";
import { keepInAddress, link } from "./router.js";
import { colour, ramp } from "./colour.js";
import { histogram, legend, lineLegend } from "./chart.js";
import { FilterMap } from "./filter_map.js";
import { showHeat } from "./heat.js";
import { probePanel } from "./probe.js";
import { KIND_NAMES, showWhatIf } from "./what_if.js";
import { showBudget } from "./budget.js";

// Absent keys that a rate is measured with.
const ABSENT_KEYS = 10000;
// Partitions that are drawn.
const STRIP = 2000;

export async function filterPage({ root, source, info, params, signal, isCurrent, adoptFamily }) {
  const { file } = params;
  const bits = await getJson(`/${source}/filter.json`, { file }, signal);
  // The list of all parts is known from the first one.
  const load = (part) => (part === 0 ? bits : getJson(`/${source}/filter.json`, { file, part, parts: 0 }, signal));
  if (!isCurrent()) return;
  const { report } = bits;
  const cf = adoptFamily(bits.column_family);
  root.append(
    h("div", { class: "heading" },
      h("h1", {}, `Filter of ${shortName(report.file)}`),
      badge(KIND_NAMES[report.kind] ?? report.kind),
      bits.layout && badge(bits.layout),
      link(`/${source}/table`, { cf, file }, { class: "button" }, "Table")),
  );
  const charts = h("div", { class: "grid" });
  if (bits.layout) await showBits({ root, charts, source, params, bits, load, signal, isCurrent });
  else {
    root.append(card("No filter", h("p", {}, report.kind === "none"
      ? "This table has no filter: every lookup in its key range reads a block."
      : `The filter has the unknown policy ${report.policy}.`)));
  }
  if (!isCurrent()) return;
  const place = () => h("div", {}, h("p", { class: "muted" }, "Loading …"));
  const [what, budget] = [place(), place()];
  charts.append(card("What if", what));
  root.append(charts);
  const isDatabase = info.kind === "database";
  if (isDatabase) root.append(card("The same memory, distributed over the levels", budget));
  await showWhatIf(what, { source, bits, signal, isCurrent });
  if (isDatabase) await showBudget(budget, { source, signal, isCurrent });
  root.setAttribute("data-ready", "whatif");
}

// The bits of one part of the filter, which one it is, and a key to probe.
async function showBits({ root, charts, source, params, bits, load, signal, isCurrent }) {
  const { file } = params;
  const heat = h("div", {});
  const bars = h("section", { class: "card", hidden: true });
  let [now, probed, picker] = [bits, null, null];
  const draw = () => {
    showHeat(heat, now, probed, () => showPart(probed.part));
    showHistogram(bars, now.part);
  };
  const showPart = async (at) => {
    picker?.show(at);
    keepInAddress({ part: at === 0 ? undefined : at });
    try {
      now = await load(at);
      if (isCurrent()) draw();
    } catch (error) {
      if (!isCurrent() || error.name === "AbortError") return;
      // The histogram is of no other part than the heat map.
      bars.hidden = true;
      replace(heat, problem(isReport() ? `Part ${formatCount(at)} is not in the report. Use sst serve to see it.` : error.message));
    }
  };
  const panel = probePanel(source, params, signal, isCurrent, async (probe) => {
    probed = probe;
    picker?.lit(probe?.part ?? null);
    // The part that was probed, unless the address names another one.
    const isElsewhere = probe?.part !== null && probe?.part !== undefined && probe.part !== now.part?.index;
    if (isElsewhere && (heat.isConnected || params.part === undefined)) await showPart(probe.part);
    else if (heat.isConnected) draw();
  });
  if (bits.part_count > 1) picker = bits.layout === "block" ? await filterMap({ source, file, bits, signal, showPart }) : partStrip(bits, showPart);
  // Probed before anything is shown, so that nothing moves.
  const start = Number(params.part ?? 0);
  if (start > 0) await showPart(start);
  await panel.first;
  if (!isCurrent()) return;
  if (start === 0) picker?.show(now.part?.index ?? 0);
  root.append(
    h("div", { class: "grid" },
      card("Size and false-positive rate", reportFacts(bits.report, bits, rateMeasurement(source, file, signal))),
      !isReport() && card("Probe a key", panel.element)),
    card(bits.part?.ribbon ? "Columns of the Ribbon" : bits.layout === "block" ? "Filters over the file" : "Fill of the lines", picker?.element, heat));
  charts.append(bars);
  if (heat.childElementCount === 0) draw();
}

function showHistogram(element, part) {
  element.hidden = !(part?.histogram.length > 0);
  if (element.hidden) return;
  const unit = part.ribbon ? "segment" : "line";
  element.setAttribute("aria-label", `Set bits of a ${unit}`);
  replace(element, h("h2", {}, `Set bits of a ${unit}`),
    histogram(`Number of ${unit}s by set bits`, part.histogram, part.expected,
      `set bits of the ${formatCount(part.line_bits)} bits of a ${unit}`, `${unit}s`),
    h("div", { class: "legends" }, legend([[colour("--bar"), `${unit}s of this filter`]]),
      part.expected && lineLegend([{ colour: colour("--expected"), name: `expected if keys hash evenly${part.ribbon ? ", without the last block" : ""}` }])));
}

function reportFacts(report, bits, measurement) {
  return facts([
    ["Policy", report.policy],
    ["Bytes", formatBytes(report.bytes)],
    ["Keys and prefixes", report.keys === null ? "unknown" : formatCount(report.keys)],
    ["Bits per key", report.bits_per_key?.toFixed(2)],
    ["Probes", report.probes],
    ["Bits set", report.fill === null ? null : formatPercent(report.fill)],
    ["Expected false-positive rate", formatRate(report.expected_fpr)],
    ["Measured false-positive rate", measurement],
    ["Whole keys", report.whole_key ? "yes" : "no"],
    ["Prefixes", report.prefix_extractor],
    ["Partitions", report.partitioned ? formatCount(report.partitions) : null],
    ["Each filter covers", bits.span ? `${formatBytes(bits.span)} of the file` : null],
    ["Trailer", bits.part?.trailer ? [h("code", {}, bits.part.trailer.hex.replace(/../g, "$& ").trim()), ` ${bits.part.trailer.meaning}`] : null],
  ]);
}

// A button that measures the rate; a report has no server that could.
function rateMeasurement(source, file, signal) {
  if (isReport()) return null;
  const place = h("span", { class: "measurement" });
  const measure = async () => {
    replace(place, "measuring …");
    try {
      const { report } = await getJson(`/${source}/filter.json`, { file, cells: 1, measure: ABSENT_KEYS }, signal);
      replace(place, report.measured_fpr === null ? "the order of the keys is unknown"
        : `${formatRate(report.measured_fpr)} of ${counted(report.measured_keys, "absent key")}`);
    } catch (error) {
      if (error.name !== "AbortError") replace(place, problem(error.message));
    }
  };
  replace(place, button("Measure", measure));
  return place;
}

// The partitions, a button each; of many the first, and a field for all others.
function partStrip(bits, showPart) {
  const cells = bits.parts.slice(0, STRIP).map((it, at) => h("button", {
    type: "button", class: "part",
    "aria-label": `Part ${at}, ${KIND_NAMES[it.kind] ?? it.kind}, ${formatBytes(it.bytes)}`,
    title: `part ${at}: ${it.kind}, ${formatBytes(it.bytes)}${it.fill === null ? "" : `, ${formatPercent(it.fill)} of its bits set`}`,
    style: { background: it.bytes === 0 ? colour("--unknown") : ramp(it.fill ?? 0.5) },
    onclick: () => showPart(at),
  }));
  const text = h("p", {});
  let [shown, lit] = [0, null];
  const update = () => {
    cells.forEach((cell, at) => cell.classList.toggle("lit-part", at === lit));
    replace(text, `${counted(bits.part_count, "partition")}. Partition ${formatCount(shown)} is shown below${lit === null ? "" : `; the key is in partition ${formatCount(lit)}`}.`);
  };
  return {
    element: h("div", {}, text, h("div", { class: "parts" }, cells),
      bits.part_count > cells.length && h("div", { class: "toolbar" },
        h("span", { class: "muted" }, `The first ${formatCount(cells.length)} of ${formatCount(bits.part_count)} are drawn.`),
        h("label", { class: "field" }, h("span", {}, "Partition"), h("input", { type: "number", min: "0", max: String(bits.part_count - 1), value: "0",
          onchange: (event) => event.target.reportValidity() && showPart(Number(event.target.value)) })))),
    show: (at) => {
      cells[shown]?.removeAttribute("aria-current");
      cells[at]?.setAttribute("aria-current", "true");
      shown = at;
      update();
    },
    lit: (at) => {
      lit = at;
      update();
    },
  };
}

// The filters of a filter block over the data blocks; where those are not known, as a strip.
async function filterMap({ source, file, bits, signal, showPart }) {
  let page;
  try {
    page = await getJson(`/${source}/blocks.json`, { file }, signal);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return partStrip(bits, showPart);
  }
  const blocks = page.blocks.filter(([kind]) => kind === "data").map(([, offset, length]) => ({ offset, length }));
  const span = bits.span ?? 2048;
  const map = new FilterMap({ blocks, filters: bits.parts, count: bits.part_count, span, onSelect: showPart });
  const omitted = [
    bits.part_count > bits.parts.length && `The first ${counted(bits.parts.length, "filter")} are coloured; the others can be selected.`,
    page.total > page.blocks.length && `The first ${counted(page.blocks.length, "block")} of ${formatCount(page.total)} are drawn.`,
  ].filter(Boolean);
  return {
    element: h("div", {},
      h("p", {}, `${counted(bits.part_count, "filter")}: each is of the data blocks that start in its ${formatBytes(span)} of the file. Coloured by fill; where no block starts, a filter is empty.`),
      omitted.length > 0 && h("p", { class: "muted" }, omitted.join(" ")),
      map.element),
    show: (at) => map.show(at),
    lit: (at) => map.show(map.selected, at),
  };
}
