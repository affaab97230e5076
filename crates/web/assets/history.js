// The history of a column family: a slider over the edits of its MANIFEST.

import { append, button, h, replace } from "./dom.js";
import { counted, formatCount } from "./bytes.js";
import { getJson } from "./data.js";
import { heightOf } from "./levels.js";

// Shows the slider. Returns whether there ever were files.
export async function showHistory(element, { source, cf, map, levels, place, showScale, signal, isCurrent }) {
  let history;
  try {
    history = await getJson(`/${source}/history.json`, { cf }, signal);
  } catch (error) {
    if (isCurrent() && error.name !== "AbortError") replace(element, h("p", { class: "muted" }, error.message));
    return false;
  }
  if (!isCurrent() || history.edits.length === 0) return false;
  const files = new Map(history.files.map((file) => [file.number, file]));
  const count = history.edits.length;
  // The map has room for its tallest state, so that the slider stays where it is.
  place.style.minHeight = `${tallest(history, files) + levels.viewport.element.clientHeight - levels.viewport.canvas.clientHeight}px`;
  const text = h("output", { class: "edit" });
  const slider = h("input", { type: "range", min: "0", max: String(count), value: String(count), step: "1",
    "aria-label": "Edit of the MANIFEST" });
  let timer = null;
  const show = (at) => {
    slider.value = String(at);
    if (at === count) levels.show(map.axis, map.levels);
    else levels.show(history.axis, levelsAt(history, files, at));
    showScale();
    replace(text, describeEdit(history, at, count));
    slider.setAttribute("aria-valuetext", text.textContent);
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    replace(play, "Play");
  };
  const play = button("Play", () => {
    if (timer) return stop();
    replace(play, "Stop");
    if (Number(slider.value) === count) show(0);
    timer = setInterval(() => {
      const next = Number(slider.value) + 1;
      if (next > count || !isCurrent()) return stop();
      return show(next);
    }, Math.max(60, Math.min(700, 12000 / count)));
    return undefined;
  });
  slider.addEventListener("input", () => show(Number(slider.value)));
  append(element, [
    h("h3", {}, "History of the MANIFEST"),
    h("div", { class: "slider" }, play,
      button("Previous", () => show(Math.max(0, Number(slider.value) - 1))),
      button("Next", () => show(Math.min(count, Number(slider.value) + 1))), slider),
    text,
    history.from > 0 && h("p", { class: "muted" }, `The last ${formatCount(count)} of ${formatCount(history.total)} edits.`),
  ]);
  show(count);
  return files.size > 0;
}

// The height of the map in the state that needs most.
function tallest(history, files) {
  const levels = new Map();
  const of = (level) => levels.get(level) ?? levels.set(level, new Map()).get(level);
  history.base.forEach(([level, number]) => of(level).set(number, files.get(number)));
  const height = () => heightOf([...levels].map(([level, live]) => ({ level, size: 0, files: inOrder(level, [...live.values()].filter(Boolean)) })));
  let most = height();
  for (const edit of history.edits) {
    edit.deleted.forEach(([level, number]) => of(level).delete(number));
    edit.added.forEach(([level, number]) => of(level).set(number, files.get(number)));
    most = Math.max(most, height());
  }
  return most;
}

// Level 0 from the newest file to the oldest, other levels by key.
function inOrder(level, files) {
  return files.sort((a, b) => (level === 0 ? b.number - a.number : a.first - b.first));
}

// The levels before edit `at`.
function levelsAt(history, files, at) {
  const live = new Map(history.base.map(([level, number]) => [number, level]));
  for (const edit of history.edits.slice(0, at)) {
    edit.deleted.forEach(([, number]) => live.delete(number));
    edit.added.forEach(([level, number]) => live.set(number, level));
  }
  const levels = new Map();
  for (const [number, level] of live) {
    const file = files.get(number);
    if (!file) continue;
    const of = levels.get(level) ?? { level, size: 0, files: [] };
    of.files.push(file);
    of.size += file.size;
    levels.set(level, of);
  }
  return [...levels.values()].sort((a, b) => a.level - b.level).map((level) => ({
    ...level,
    files: inOrder(level.level, level.files),
  }));
}

function describeEdit(history, at, count) {
  if (at === 0) return "Before the first edit";
  const edit = history.edits[at - 1];
  const by = (files) => {
    const levels = new Map();
    files.forEach(([level]) => levels.set(level, (levels.get(level) ?? 0) + 1));
    return [...levels].map(([level, number]) => `${counted(number, "file")} in level ${level}`).join(", ");
  };
  const parts = [`Edit ${edit.index + 1} of ${history.total}: ${edit.reason}`];
  if (edit.deleted.length > 0) parts.push(`− ${by(edit.deleted)}`);
  if (edit.added.length > 0) parts.push(`+ ${by(edit.added)}`);
  if (at === count) parts.push("(now)");
  return parts.join("  ");
}
