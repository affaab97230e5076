// The filter of a table: its size and rate, its fill, a probe, and what other filters would cost.

import { badge, button, card, facts, h, problem, replace } from "./dom.js";
import { counted, formatBytes, formatCount, formatPercent, formatRate } from "./bytes.js";
import { getJson, isReport } from "./data.js";
import { link, navigate } from "./router.js";
import { colour, ramp } from "./colour.js";
import { histogram, legend } from "./chart.js";
import { showHeat } from "./heat.js";
import { probePanel } from "./probe.js";
import { KIND_NAMES, showWhatIf } from "./what_if.js";
import { showBudget } from "./budget.js";
import { shortName } from "./table.js";

// Absent keys that a rate is measured with.
const ABSENT_KEYS = 10000;

export async function filterPage({ root, source, info, params, signal, isCurrent, adoptFamily }) {
  const { file } = params;
  const part = Number(params.part ?? 0);
  const bits = await getJson(`/${source}/filter.json`, part === 0 ? { file } : { file, part }, signal);
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
  if (!bits.layout) {
    root.append(card("No filter", h("p", {}, report.kind === "none"
      ? "This table has no filter: every lookup in its key range reads a block."
      : `The filter has the unknown policy ${report.policy}.`)));
  } else {
    const heat = h("div", {});
    let probed = null;
    const panel = probePanel(source, params, signal, isCurrent, (probe) => {
      probed = probe;
      if (heat.isConnected) showHeat(heat, bits, probe);
    });
    // Probed before anything is shown, so that nothing moves.
    await panel.first;
    if (!isCurrent()) return;
    root.append(
      h("div", { class: "grid" },
        card("Size and false-positive rate", reportFacts(report, bits, rateMeasurement(source, file, signal))),
        !isReport() && card("Probe a key", panel.element)),
      card(bits.part?.ribbon ? "Columns of the Ribbon" : "Fill of the lines",
        bits.part_count > 1 && partPicker(source, params, bits, part), heat));
    showHeat(heat, bits, probed);
    if (bits.part?.histogram.length > 0) {
      const unit = bits.part.ribbon ? "segment" : "line";
      charts.append(card(`Set bits of a ${unit}`, histogram(`Number of ${unit}s by set bits`, bits.part.histogram, bits.part.expected,
        `set bits of the ${formatCount(bits.part.line_bits)} bits of a ${unit}`, `${unit}s`),
      legend([[colour("--bar"), `${unit}s of this filter`], ...(bits.part.expected ? [[colour("--expected"), "expected for keys that hash evenly"]] : [])])));
    }
  }
  const place = () => h("div", {}, h("p", { class: "muted" }, "Loading …"));
  const [what, budget] = [place(), place()];
  charts.append(card("What if", what));
  root.append(charts);
  const isDatabase = info.kind === "database";
  if (isDatabase) root.append(card("The same memory, distributed over the levels", budget));
  await showWhatIf(what, { source, report, signal, isCurrent });
  if (isDatabase) await showBudget(budget, { source, signal, isCurrent });
  root.setAttribute("data-ready", "whatif");
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

function partPicker(source, params, bits, part) {
  const cells = bits.parts.slice(0, 2000).map((it, at) => {
    const share = it.fill ?? 0.5;
    return h("button", {
      type: "button", class: "part", "aria-current": at === part ? "true" : undefined,
      "aria-label": `Part ${at}, ${KIND_NAMES[it.kind] ?? it.kind}, ${formatBytes(it.bytes)}`,
      title: `part ${at}: ${it.kind}, ${formatBytes(it.bytes)}, ${it.fill === null ? "" : formatPercent(it.fill)}`,
      style: { background: it.bytes === 0 ? colour("--unknown") : ramp(share) },
      onclick: () => navigate(`/${source}/filter`, { ...params, part: at }),
    });
  });
  return h("div", {},
    h("p", {}, bits.layout === "block"
      ? `${counted(bits.part_count, "filter")}, one for every ${formatBytes(bits.span ?? 2048)} of data blocks, coloured by fill.`
      : `${counted(bits.part_count, "partition")}, coloured by fill. Partition ${part} is shown below.`),
    h("div", { class: "parts" }, cells));
}
