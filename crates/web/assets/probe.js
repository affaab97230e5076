// A probe of a filter: the hash of a key, its line or columns, and each bit.

import { badge, facts, h, key, problem, replace, row, table } from "./dom.js";
import { bitsOf, counted, formatBytes, formatCount } from "./bytes.js";
import { getJson } from "./data.js";
import { keepInAddress } from "./router.js";

// The form, and the probe of the key in the address.
export function probePanel(source, params, signal, isCurrent, onProbe) {
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
      await onProbe(found.probes[0] ?? null);
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
  return { element, first: params.key === undefined ? null : probe() };
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
      ["Line", answer.place?.line?.count > 1 && `${formatCount(answer.place.line.index)}, of ${formatCount(answer.place.line.count)} from 0 to ${formatCount(answer.place.line.count - 1)}`],
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

// The bits of each column in the 128 slots of the key. Those that its equation adds up are lit: their sum, of
// zeros and ones without carry, is what is found.
function segmentView(probe) {
  const { probes, place } = probe.answer;
  const { start, row: coefficients, result } = place.slots;
  const added = lowestFirst(coefficients);
  return table("Columns", ["Column", `Its bits in slots ${formatCount(start)} to ${formatCount(start + 127)}`, "Expected", "Found"], probe.segments.map(([here, next], column) => {
    const it = probes.find((at) => at.position === column);
    const bits = [...bitsOf(here), ...(next ? bitsOf(next) : [])].slice(start % 128, (start % 128) + 128);
    const ones = bits.filter((bit, at) => bit && added[at]).length;
    const kind = (bit, at) => (it && added[at] ? (bit ? "hit" : "zero") : bit ? "one" : "");
    return row(column,
      h("div", { class: "line segment", role: "img", "aria-label": `${counted(ones, "one")} among the ${added.filter(Boolean).length} bits of the equation` },
        bits.map((bit, at) => h("span", { class: `cell ${kind(bit, at)}`, title: `slot ${start + at}: ${bit}` }))),
      (result >> column) & 1,
      it ? (it.found === it.expected ? `${it.found} ✓` : `${it.found} ✗`) : "not probed");
  }));
}

// The bits of a number in hexadecimal digits, the lowest first.
function lowestFirst(hex) {
  const digits = hex.padStart(32, "0").match(/../g).reverse().join("");
  return bitsOf(digits);
}
