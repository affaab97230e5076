// Bytes with their fields: hovering or focusing a field shows what it is, in both views.

import { h, plain, replace } from "./dom.js";
import { fromHex } from "./bytes.js";

const PER_LINE = 16;

// Colours by what a field is for, the same in all kinds of blocks.
const FIELD_CLASSES = [
  [/^(shared|non_shared|value length|value offset|first key length)$/, "f-length"],
  [/^(key|first key)$/, "f-key"],
  [/^(type|sequence number)$/, "f-tail"],
  [/^(value|bits|columns|filter|dictionary)$/, "f-value"],
  [/^(block offset|block size|size difference|metaindex offset|metaindex size|index offset|index size)$/, "f-handle"],
  [/restart|bucket|filter offset|offset of the offsets|values start/, "f-array"],
  [/checksum|magic/, "f-check"],
];

// The class of a field, and the variable with its colour.
export function classOf(name) {
  return FIELD_CLASSES.find(([pattern]) => pattern.test(name))?.[1] ?? "f-other";
}

// `marked` is { start, hex, fields }; offsets of fields are relative to the same zero as `start`, or for
// trailers and footers to the first byte: `fieldBase` is then `start`.
export function hexView(label, marked, fieldBase = 0) {
  const bytes = fromHex(marked.hex);
  const fieldOf = new Int32Array(bytes.length).fill(-1);
  marked.fields.forEach((field, at) => {
    const from = Math.max(field.start + fieldBase - marked.start, 0);
    const to = Math.min(field.end + fieldBase - marked.start, bytes.length);
    fieldOf.fill(at, from, to);
  });
  const info = h("p", { class: "field-info", role: "status" }, "Point at a byte to see its field.");
  const lines = [];
  const width = Math.max(4, (marked.start + bytes.length).toString(16).length);
  for (let at = 0; at < bytes.length; at += PER_LINE) {
    const [cells, characters] = [[], []];
    for (let i = at; i < Math.min(at + PER_LINE, bytes.length); i += 1) {
      const field = fieldOf[i];
      const name = field < 0 ? "" : marked.fields[field].name;
      const starts = field >= 0 && (i === 0 || fieldOf[i - 1] !== field) ? " f-start" : "";
      const kind = field < 0 ? "" : `${classOf(name)}${starts}`;
      const byte = bytes[i];
      cells.push(h("span", { class: `byte ${kind}`, "data-field": field }, byte.toString(16).padStart(2, "0")));
      characters.push(h("span", { class: `char ${kind}`, "data-field": field },
        byte >= 0x20 && byte <= 0x7e ? String.fromCharCode(byte) : "·"));
    }
    lines.push(h("div", { class: "hex-line" },
      h("span", { class: "offset" }, (marked.start + at).toString(16).padStart(width, "0")),
      h("span", { class: "hex-bytes" }, cells), h("span", { class: "hex-chars" }, characters)));
  }
  const view = h("div", { class: "hex", tabindex: "0", role: "region", "aria-label": label }, lines);
  let lit = -1;
  const light = (field) => {
    if (field === lit) return;
    lit = field;
    view.querySelectorAll(".lit").forEach((element) => element.classList.remove("lit"));
    if (field < 0) return;
    view.querySelectorAll(`[data-field="${field}"]`).forEach((element) => element.classList.add("lit"));
    replace(info, describeField(marked.fields[field], fieldBase));
  };
  view.addEventListener("pointerover", (event) => light(Number(event.target.dataset?.field ?? -1)));
  view.addEventListener("keydown", (event) => {
    const by = { ".": 1, ",": -1 }[event.key];
    if (!by || marked.fields.length === 0) return;
    event.preventDefault();
    light(Math.max(0, Math.min(lit + by, marked.fields.length - 1)));
    view.querySelector(".lit")?.scrollIntoView({ block: "nearest" });
  });
  return h("div", {}, info, view);
}

function describeField(field, base) {
  const [from, to] = [field.start + base, field.end + base];
  return [
    h("strong", {}, field.name),
    field.entry === undefined ? "" : ` of entry ${field.entry}`,
    field.value === undefined ? "" : [" = ", h("code", {}, plain(field.value))],
    h("span", { class: "muted" }, `  bytes ${from} to ${to - 1} (${to - from})`),
  ];
}

export function fieldLegend() {
  const items = [["f-length", "lengths"], ["f-key", "key"], ["f-tail", "type and sequence number"], ["f-value", "value"],
    ["f-handle", "handles"], ["f-array", "restart points and offsets"], ["f-check", "checksums and magic"]];
  return h("ul", { class: "legend" }, items.map(([kind, text]) =>
    h("li", {}, h("span", { class: `swatch ${kind}` }), text)));
}
