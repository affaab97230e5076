// Colours: categories that colour-blind people can tell apart (Okabe and Ito), and a ramp from dark to
// light for quantities (cividis). Both are in the style sheet, so that themes can differ.

const cache = new Map();

// The value of a variable of the style sheet.
export function css(name) {
  return cached(name, () => getComputedStyle(document.documentElement).getPropertyValue(name).trim());
}

// A colour of the style sheet, as the theme has it: a canvas does not know variables.
export function colour(name) {
  return cached(name, () => {
    const probe = document.body.appendChild(document.createElement("span"));
    probe.style.color = `var(${name})`;
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  });
}

function cached(name, find) {
  if (!cache.has(name)) cache.set(name, find());
  return cache.get(name);
}

export function forgetColours() {
  cache.clear();
}

const RAMP = [
  [0, 34, 78], [30, 59, 110], [65, 77, 107], [93, 95, 109], [122, 114, 119],
  [152, 135, 117], [184, 156, 107], [219, 182, 84], [254, 232, 56],
];

// The colour of a share of 1.
export function ramp(share) {
  const at = Math.max(0, Math.min(1, Number.isFinite(share) ? share : 0)) * (RAMP.length - 1);
  const low = Math.floor(at);
  const [a, b] = [RAMP[low], RAMP[Math.min(low + 1, RAMP.length - 1)]];
  const mix = a.map((part, i) => Math.round(part + (b[i] - part) * (at - low)));
  return `rgb(${mix.join(",")})`;
}

// Black or white, whichever is readable on a colour of the ramp.
export function onRamp(share) {
  return share > 0.55 ? "#000" : "#fff";
}

export const BLOCK_KINDS = {
  data: "Data",
  embedded_blob: "Embedded blob",
  filter: "Filter",
  filter_partition: "Filter partition",
  index: "Index",
  index_partition: "Index partition",
  hash_index: "Hash index",
  user_defined_index: "User-defined index",
  compression_dictionary: "Dictionary",
  range_deletion: "Range tombstones",
  properties: "Properties",
  metaindex: "Metaindex",
  footer: "Footer",
  other: "Other",
};

const KIND_COLOURS = {
  data: "--kind-data",
  embedded_blob: "--kind-blob",
  filter: "--kind-filter",
  filter_partition: "--kind-filter",
  index: "--kind-index",
  index_partition: "--kind-index",
  hash_index: "--kind-index",
  user_defined_index: "--kind-index",
  compression_dictionary: "--kind-dictionary",
  range_deletion: "--kind-tombstones",
  properties: "--kind-properties",
  metaindex: "--kind-metaindex",
  footer: "--kind-footer",
};

export function kindColour(kind) {
  return colour(KIND_COLOURS[kind] ?? "--kind-other");
}
