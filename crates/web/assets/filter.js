// A filter: how full its lines are, what a key probes, and what another filter would cost.

import { badge, button, card, facts, h, key, problem, replace, row, select, table } from "./dom.js";
import { counted, formatBytes, formatCount, formatPercent, formatRate, fromHex } from "./bytes.js";
import { getJson, isReport } from "./data.js";
import { keepInAddress, link, navigate } from "./router.js";
import { css, ramp } from "./colour.js";
import { curves, histogram, legend, rampBar } from "./chart.js";
import { shortName } from "./table.js";

const MARGIN = 5;

// Absent keys that a rate is measured with.
const ABSENT_KEYS = 10000;

const KIND_NAMES = {
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

export async function filterPage({ root, source, params, signal, isCurrent, adoptFamily }) {
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
      legend([[css("--bar"), `${unit}s of this filter`], ...(bits.part.expected ? [[css("--expected"), "expected for keys that hash evenly"]] : [])])));
    }
  }
  const what = h("div", {}, h("p", { class: "muted" }, "Loading …"));
  charts.append(card("What if", what));
  root.append(charts);
  await showWhatIf(what, { source, cf, report, signal, isCurrent });
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
      style: { background: it.bytes === 0 ? css("--unknown") : ramp(share) },
      onclick: () => navigate(`/${source}/filter`, { ...params, part: at }),
    });
  });
  return h("div", {},
    h("p", {}, bits.layout === "block"
      ? `${counted(bits.part_count, "filter")}, one for every ${formatBytes(bits.span ?? 2048)} of data blocks, coloured by fill.`
      : `${counted(bits.part_count, "partition")}, coloured by fill. Partition ${part} is shown below.`),
    h("div", { class: "parts" }, cells));
}

// Cells of lines, coloured by their set bits; the probed one is marked.
function showHeat(element, bits, probe) {
  const { part } = bits;
  if (!part || part.cells.length === 0) {
    replace(element, h("p", { class: "muted" }, "This part has no bits to show."));
    return;
  }
  const columns = part.ribbon;
  const isBits = part.lines === 1 && part.line;
  const canvas = h("canvas", { class: "heat", role: "img", "aria-label":
    `${formatCount(part.lines)} ${columns ? "segments" : "lines"} of ${part.line_bits} bits, coloured by set bits` });
  const lit = probe?.part === part.index || probe?.part === undefined ? probe : null;
  const index = lit?.answer?.place?.line?.index ?? lit?.answer?.place?.slots?.first_segment;
  const text = part.lines_per_cell > 1 ? `Each cell is ${part.lines_per_cell} ${columns ? "segments" : "lines"}. ` : "";
  const half = part.line_bits / 2;
  // The colours span what there is, and not less than a tenth of a line: small differences stay small.
  const [least, most] = [Math.min(...part.cells), Math.max(...part.cells)];
  const spread = Math.max(most - least, part.line_bits / 10);
  const extent = [Math.max(0, (least + most - spread) / 2), Math.min(part.line_bits, (least + most + spread) / 2)];
  replace(element,
    h("p", { class: "muted" }, isBits
      ? `One line of ${formatCount(part.line_bits)} bits: each cell is a bit.`
      : columns
        ? `${text}${formatCount(columns.blocks)} blocks of 128 slots; ${columns.upper_columns} columns from block ${formatCount(columns.upper_start_block)} on, ${columns.upper_columns - 1} before. Half of all bits are set, whatever the keys.`
        : `${text}${counted(part.lines, "line")} of ${part.line_bits} bits. A full filter has about half of its bits set: ${half}.`),
    canvas,
    h("span", { class: "ramp-labels" }, h("span", {}, isBits ? "0" : `${Math.round(extent[0])} bits set`), rampBar(), h("span", {}, isBits ? "1" : `${Math.round(extent[1])} bits set`)),
    index !== undefined && h("p", { class: "lit-text" }, `The key's ${columns ? "slots start in segment" : "bits are in line"} ${formatCount(index)}; the filter has ${counted(part.lines, columns ? "segment" : "line")}.`));
  const draw = () => {
    if (isBits) drawCells(canvas, bitsOf(part.line), [0, 1], lit ? lit.answer.probes.map((it) => it.position) : []);
    else drawCells(canvas, part.cells, extent, index === undefined ? [] : [Math.floor(index / part.lines_per_cell)]);
  };
  draw();
  new ResizeObserver(draw).observe(canvas);
}

function bitsOf(hex) {
  return Array.from(fromHex(hex)).flatMap((byte) => [0, 1, 2, 3, 4, 5, 6, 7].map((bit) => (byte >> bit) & 1));
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
    context.strokeStyle = css("--lit");
    context.strokeRect(x - 1.5, y - 1.5, size + 2, size + 2);
    context.strokeStyle = css("--text");
    context.lineWidth = 1;
    context.strokeRect(x - 3, y - 3, size + 5, size + 5);
    context.lineWidth = 2.5;
  }
}

// The form, and the probe of the key in the address.
function probePanel(source, params, signal, isCurrent, onProbe) {
  const input = h("input", { type: "text", id: "probe-key", class: "key-input", value: params.key ?? "", autocomplete: "off",
    spellcheck: "false", placeholder: "key, \\xHH for other bytes" });
  const answer = h("div", { "aria-live": "polite" });
  const probe = async () => {
    const text = input.value;
    keepInAddress({ key: text });
    try {
      const found = await getJson(`/${source}/probe.json`, { file: params.file, key: text }, signal);
      if (!isCurrent()) return;
      replace(answer, found.probes.length === 0 ? h("p", {}, "No filter is probed for this key.") : found.probes.map((it) => probeView(it, found)));
      onProbe(found.probes[0] ?? null);
    } catch (error) {
      if (error.name !== "AbortError") replace(answer, problem(error.message));
    }
  };
  const element = h("form", { class: "probe", onsubmit: (event) => {
    event.preventDefault();
    probe();
  } },
  h("label", { for: "probe-key" }, "Type a key and see its bits light up."),
  h("div", { class: "toolbar" }, input, h("button", { type: "submit", class: "primary" }, "Probe")), answer);
  return { element, first: params.key ? probe() : null };
}

// The hash, the place and each bit of a probe.
export function probeView(probe, found = null) {
  const { answer } = probe;
  const verdict = answer.may_contain
    ? found && !found.in_table ? ["maybe", "May contain it, but the table does not: a false positive."] : ["yes", "May contain it."]
    : ["no", "Certainly does not contain it."];
  return h("div", { class: "probe-result" },
    h("p", {}, badge(verdict[0] === "no" ? "no" : "maybe", verdict[0]), ` ${verdict[1]}`),
    facts([
      ["Probed for", answer.question === "prefix" ? ["the prefix ", key(answer.prefix ?? "")] : answer.question === "nothing" ? answer.reason : "the whole key"],
      ["Hash", answer.hash && h("code", {}, answer.hash)],
      ["Line", answer.place?.line && `${formatCount(answer.place.line.index)}; the filter has ${formatCount(answer.place.line.count)}`],
      ["Slots", answer.place?.slots && `${formatCount(answer.place.slots.start)} to ${formatCount(answer.place.slots.start + 127)} of ${formatCount(answer.place.slots.count)}`],
      ["Partition", answer.partition && `at ${formatCount(answer.partition.offset)}, ${formatBytes(answer.partition.length)}`],
      ["Bits probed", answer.probes.length > 0 && h("span", { class: "probes" }, answer.probes.map((it, at) =>
        h("span", { class: it.expected === it.found ? "bit set" : "bit clear", style: { animationDelay: `${at * 120}ms` } },
          `${answer.place?.slots ? "column " : ""}${formatCount(it.position)}${it.expected === it.found ? " ✓" : " ✗"}`)))],
      ["Problem", answer.problem],
    ]),
    probe.line && lineView(probe),
    probe.segments?.length > 0 && segmentView(probe));
}

// All bits of the line, the probed ones lit.
function lineView(probe) {
  const bits = bitsOf(probe.line);
  if (bits.length > 4096) return null;
  const probes = new Map(probe.answer.probes.map((it, at) => [it.position, { ...it, at }]));
  return h("div", { class: "line", role: "img", "aria-label": `The ${bits.length} bits of the line; ${probes.size} were probed` },
    bits.map((bit, at) => {
      const it = probes.get(at);
      const kind = it ? (it.found === it.expected ? "hit" : "miss") : bit ? "one" : "";
      return h("span", { class: `cell ${kind}`, title: `bit ${at}: ${bit}`, style: it ? { animationDelay: `${it.at * 120}ms` } : {} });
    }));
}

function segmentView(probe) {
  const { probes, place } = probe.answer;
  return table("Columns", ["Column", "Its 128 bits, and those of the next block", "Expected", "Found"], probe.segments.map(([here, next], column) => {
    const it = probes.find((at) => at.position === column);
    return row(column, h("code", { class: "segment" }, here, next ? ` ${next}` : ""), (place.slots.result >> column) & 1,
      it ? (it.found === it.expected ? `${it.found} ✓` : `${it.found} ✗`) : "not probed");
  }));
}

// Curves of all kinds, the filter as it is, and what it would be.
async function showWhatIf(element, { source, cf, report, signal, isCurrent }) {
  const keys = report.keys ?? 1000000;
  let what;
  try {
    what = await getJson(`/${source}/whatif.json`, { cf, keys }, signal);
  } catch (error) {
    if (error.name !== "AbortError") replace(element, h("p", { class: "muted" }, error.message));
    return;
  }
  if (!isCurrent()) return;
  const colours = { fast_local_bloom: "--kind-data", ribbon128: "--kind-filter", legacy_bloom: "--kind-properties", leveldb_bloom: "--kind-index" };
  const dashes = { fast_local_bloom: "", ribbon128: "8 3", legacy_bloom: "2 3", leveldb_bloom: "10 3 2 3" };
  const list = what.curves.map((curve) => ({
    name: KIND_NAMES[curve.kind], colour: css(colours[curve.kind]), dash: dashes[curve.kind],
    points: curve.points.filter((point) => point.bits_per_key <= 24).map((point) => [point.bits_per_key, point.rate]),
  }));
  const mark = report.bits_per_key && report.expected_fpr ? [Math.min(report.bits_per_key, 24), report.expected_fpr] : null;
  const result = h("output", { class: "what-if-result", "aria-live": "polite" });
  const kind = Object.hasOwn(colours, report.kind) ? report.kind : "fast_local_bloom";
  // A Ribbon filter takes fewer bits than its policy says: the point that takes as many as this filter.
  const { points } = what.curves.find((it) => it.kind === kind);
  const nearest = (value, of) => points.reduce((best, it) => (Math.abs(it[of] - value) < Math.abs(best[of] - value) ? it : best));
  const state = { kind, bits: report.bits_per_key ? nearest(report.bits_per_key, "bits_per_key").policy_bits : 10 };
  const slider = h("input", { type: "range", min: "2", max: "24", step: "0.5", value: String(state.bits), "aria-label": "Bits per key of the policy" });
  const update = () => {
    const curve = what.curves.find((it) => it.kind === state.kind);
    const point = curve.points.reduce((best, it) => (Math.abs(it.policy_bits - state.bits) < Math.abs(best.policy_bits - state.bits) ? it : best));
    const bytes = (point.bits_per_key * keys) / 8;
    const change = report.bytes > 0 ? `, ${bytes >= report.bytes ? "+" : "−"}${formatBytes(Math.abs(bytes - report.bytes))}` : "";
    const rate = report.expected_fpr ? ` instead of ${formatRate(report.expected_fpr)}` : "";
    replace(result, h("strong", {}, `${KIND_NAMES[state.kind]}, ${point.policy_bits} bits per key`),
      `: ${formatBytes(bytes)} for ${formatCount(keys)} keys${change}; false-positive rate ${formatRate(point.rate)}${rate}`);
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
    curves("False-positive rate by bits per key", list, mark, "bits per key that the filter takes", "rate"),
    legend(list.map((curve) => [curve.colour, curve.name])),
    what.budget && budgetPanel(what, { source, cf, keys, signal, isCurrent }));
  update();
}

// The memory of all filters, redistributed over the levels.
function budgetPanel(first, { source, cf, keys, signal, isCurrent }) {
  const now = first.levels.reduce((sum, level) => sum + level.bytes, 0);
  const result = h("div", { "aria-live": "polite" });
  const state = { share: 1, kinds: "bloom" };
  const slider = h("input", { type: "range", min: "0", max: "3", step: "0.05", value: "1", "aria-label": "Memory of all filters" });
  const show = ({ levels, budget }) => {
    slider.setAttribute("aria-valuetext", formatBytes(budget.bytes));
    const gain = budget.now.wasted_reads > 0 ? ` instead of ${budget.now.wasted_reads.toPrecision(2)}` : "";
    replace(result,
      h("p", {}, h("strong", {}, `${formatBytes(budget.best.bytes)} of ${formatBytes(budget.bytes)}`),
        `: ${budget.best.wasted_reads.toPrecision(2)} data blocks read needlessly by a lookup of an absent key${gain}.`),
      table("Filters by level", ["Level", "Files", "Keys", "Bits per key now", "Best policy", "Bits per key", "Rate"], levels.map((it, at) => {
        const best = budget.best.levels[at];
        return row(it.level, formatCount(it.files), formatCount(it.keys), it.keys > 0 ? ((8 * it.bytes) / it.keys).toFixed(2) : "",
          h("code", {}, best.policy), best.bits_per_key.toFixed(2), best.rate >= 1 ? "no filter" : formatRate(best.rate));
      })));
  };
  const load = async () => {
    try {
      const budget = Math.round(now * state.share);
      const what = await getJson(`/${source}/whatif.json`, { cf, keys, budget, kinds: state.kinds }, signal);
      if (isCurrent()) show(what);
    } catch (error) {
      if (error.name !== "AbortError") replace(result, h("p", { class: "muted" }, error.message));
    }
  };
  slider.addEventListener("input", () => {
    state.share = Number(slider.value);
    load();
  });
  show(first);
  return h("div", { class: "budget" }, h("h3", {}, "The same memory, distributed over the levels"),
    !isReport() && h("div", { class: "toolbar" },
      select("Kinds", [["bloom", "Bloom"], ["ribbon", "Ribbon"], ["both", "Both"]], state.kinds, (kinds) => {
        state.kinds = kinds;
        load();
      }),
      h("label", { class: "field wide" }, h("span", {}, "Memory, from none to three times as much"), slider)),
    result);
}
