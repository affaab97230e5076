// Elements. Texts are always text, never HTML, and show what a terminal or browser would act on.

const SVG = "http://www.w3.org/2000/svg";

// Control characters, and those that change the direction of text, are visible escapes.
const CONTROL =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

export function plain(text) {
  return String(text).replace(CONTROL, (c) => `\\u{${c.charCodeAt(0).toString(16)}}`);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (name === "vars") {
      for (const [key, of] of Object.entries(value)) element.style.setProperty(key, of);
    } else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : plain(value));
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : plain(child));
  }
}

export function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function svg(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

export function button(label, onclick, properties = {}) {
  return h("button", { type: "button", onclick, ...properties }, label);
}

// A labelled choice; `options` are pairs of value and text.
export function select(label, options, chosen, onchange) {
  const list = h(
    "select",
    { onchange: (event) => onchange(event.target.value) },
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
  );
  return h("label", { class: "field" }, h("span", {}, label), list);
}

// Buttons of which one is pressed; `options` are pairs of value and text.
export function choice(label, options, chosen, onchange) {
  // The buttons stay, and so does the focus.
  const buttons = options.map(([value, text]) =>
    button(text, () => {
      show(value);
      onchange(value);
    }, { "data-value": value }));
  const show = (now) => buttons.forEach((it, at) => it.setAttribute("aria-pressed", String(options[at][0] === now)));
  show(chosen);
  return h("div", { class: "choice", role: "group", "aria-label": label }, buttons);
}

export function card(title, ...children) {
  return h("section", { class: "card", "aria-label": title }, h("h2", {}, title), ...children);
}

// Names and values.
export function facts(pairs) {
  const shown = pairs.filter(([, value]) => ![undefined, null, false, ""].includes(value));
  return h(
    "dl",
    { class: "facts" },
    shown.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

// A table that scrolls on its own, and with the keyboard. With the class `stack`, its cells are below each
// other on narrow screens, each after its head.
export function table(label, heads, rows, kind = "") {
  if (kind === "stack") {
    rows.forEach((tr) => heads.forEach((head, at) => tr.children[at]?.setAttribute("data-head", head)));
  }
  return h(
    "div",
    { class: `scroll ${kind}`.trim(), tabindex: "0", role: "region", "aria-label": label },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, rows),
    ),
  );
}

export function row(...cells) {
  return h("tr", {}, cells.map((cell) => h("td", {}, cell)));
}

export function key(text) {
  return h("code", { class: "key", dir: "ltr" }, text === "" ? h("em", {}, "empty") : text);
}

export function badge(text, kind = "") {
  return h("span", { class: `badge ${kind}` }, text);
}

export function problem(message) {
  return h("p", { class: "problem", role: "alert" }, message);
}

// Says something to screen readers.
export function announce(message) {
  document.getElementById("announcer").textContent = plain(message);
}

const tooltip = () => document.getElementById("tooltip");

export function showTooltip(x, y, ...children) {
  const tip = replace(tooltip(), ...children);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(x + 14, window.innerWidth - box.width - 8);
  const top = y + 18 + box.height > window.innerHeight ? y - box.height - 10 : y + 18;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

export function hideTooltip() {
  tooltip().hidden = true;
}
