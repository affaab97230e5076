// The history of a column family: a slider over the edits of its MANIFEST.

import { append, button, h, replace } from "./dom.js";
import { formatCount } from "./bytes.js";
import { getJson } from "./data.js";

// The controls, and `load`, which fetches the history and makes them work. They are above the map, which has
// another height in each state: what is below it moves, they do not.
export function historyPanel({ source, cf, map, levels, onShow, signal, isCurrent }) {
  const text = h("output", { class: "edit" }, "Reading the MANIFEST …");
  const slider = h("input", { type: "range", min: "0", max: "1", value: "1", step: "1", disabled: true,
    "aria-label": "Edit of the MANIFEST" });
  const more = h("span", {});
  const play = button("Play", () => {}, { disabled: true });
  const [previous, next] = ["Previous", "Next"].map((name) => button(name, () => {}, { disabled: true }));
  const element = h("div", { class: "history" },
    h("h3", {}, "History of the MANIFEST"), h("div", { class: "slider" }, play, previous, next, slider), text, more);

  const load = async () => {
    let history;
    try {
      history = await getJson(`/${source}/history.json`, { cf }, signal);
    } catch (error) {
      if (isCurrent() && error.name !== "AbortError") replace(text, error.message);
      return;
    }
    if (!isCurrent()) return;
    const count = history.edits.length;
    if (count === 0) {
      replace(text, "The MANIFEST has no edits of this column family.");
      return;
    }
    const files = new Map(history.files.map((file) => [file.number, file]));
    let timer = null;
    const show = (at) => {
      slider.value = String(at);
      const now = at === count ? map.levels : levelsAt(history, files, at);
      levels.show(at === count ? map.axis : history.axis, now);
      // What the edit has added is outlined.
      levels.mark(at === 0 ? [] : history.edits[at - 1].added.map(([, number]) => number));
      onShow(now);
      describe(at);
    };
    const describe = (at) => {
      replace(text, describeEdit(history, at, count));
      slider.setAttribute("aria-valuetext", text.textContent);
    };
    const stop = () => {
      clearInterval(timer);
      timer = null;
      replace(play, "Play");
    };
    const toggle = () => {
      if (timer) return stop();
      replace(play, "Stop");
      if (Number(slider.value) === count) show(0);
      timer = setInterval(() => {
        const at = Number(slider.value) + 1;
        if (at > count || !isCurrent()) return stop();
        return show(at);
      }, Math.max(60, Math.min(700, 12000 / count)));
      return undefined;
    };
    slider.max = String(count);
    slider.value = String(count);
    play.addEventListener("click", toggle);
    previous.addEventListener("click", () => show(Math.max(0, Number(slider.value) - 1)));
    next.addEventListener("click", () => show(Math.min(count, Number(slider.value) + 1)));
    slider.addEventListener("input", () => show(Number(slider.value)));
    for (const control of [play, previous, next, slider]) control.disabled = false;
    if (history.from > 0) append(more, [h("p", { class: "muted" }, `The last ${formatCount(count)} of ${formatCount(history.total)} edits.`)]);
    describe(count);
  };
  return { element, load };
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
    return [...levels].map(([level, number]) => `${formatCount(number)} in level ${level}`).join(", ");
  };
  const changes = [];
  if (edit.deleted.length > 0) changes.push(`deleted files: ${by(edit.deleted)}`);
  if (edit.added.length > 0) changes.push(`added files: ${by(edit.added)}`);
  const now = at === count ? " (now)" : "";
  return [h("strong", {}, `Edit ${formatCount(edit.index + 1)} of ${formatCount(history.total)}: ${edit.reason}`), now,
    changes.length > 0 && h("span", { class: "changes" }, changes.join("; "))];
}
