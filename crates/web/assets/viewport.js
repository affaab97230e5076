// A zoomable, draggable window on a line of numbers, drawn on a canvas with a small map below it.
//
//   wheel, + and -      zoom around the pointer or the middle
//   drag, arrows        move
//   0                   everything
//   , and .             previous and next item
//   [ and ]             previous and next key

import { h } from "./dom.js";
import { colour, css } from "./colour.js";

const MINIMAP_HEIGHT = 22;

export class Viewport {
  // `options`: label, height, total, least (the shortest window), draw(context, view), drawMap, onHover,
  // onSelect, onStep, onKey.
  constructor(options) {
    this.options = options;
    this.total = Math.max(options.total, 1);
    this.start = 0;
    this.end = this.total;
    this.left = options.left ?? 0;
    this.canvas = h("canvas", {
      class: "map",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "zoomable map",
      "aria-label": `${options.label}. Plus and minus zoom, arrows move, 0 shows everything, comma and period select, Enter opens.${options.onKey ? " Brackets move along the keys." : ""}`,
      style: { height: `${options.height}px` },
    });
    this.minimap = h("canvas", {
      class: "minimap",
      "aria-hidden": "true",
      style: { height: `${MINIMAP_HEIGHT}px` },
    });
    this.element = h("div", { class: "viewport" }, this.canvas, this.minimap);
    this.listen();
    this.observer = new ResizeObserver(() => this.redraw());
    this.observer.observe(this.element);
  }

  setHeight(height) {
    this.options.height = height;
    this.canvas.style.height = `${height}px`;
    this.redraw();
  }

  // Another line of numbers: the window stays where it is, as a share of it.
  setTotal(total) {
    const by = Math.max(total, 1) / this.total;
    this.total = Math.max(total, 1);
    this.move(this.start * by, this.end * by);
  }

  get width() {
    return Math.max(this.canvas.clientWidth - this.left, 1);
  }

  // The pixel of a number, and the number of a pixel.
  x(value) {
    return this.left + ((value - this.start) / (this.end - this.start)) * this.width;
  }

  value(x) {
    return this.start + ((x - this.left) / this.width) * (this.end - this.start);
  }

  move(start, end) {
    const least = Math.min(this.options.least ?? this.total / 1e6, this.total);
    const length = Math.min(Math.max(end - start, least), this.total);
    const middle = (start + end) / 2;
    this.start = Math.max(0, Math.min(middle - length / 2, this.total - length));
    this.end = this.start + length;
    this.redraw();
  }

  zoom(factor, around = (this.start + this.end) / 2) {
    const start = around - (around - this.start) * factor;
    this.move(start, start + (this.end - this.start) * factor);
  }

  pan(share) {
    const by = share * (this.end - this.start);
    const start = Math.max(0, Math.min(this.start + by, this.total - (this.end - this.start)));
    this.move(start, start + (this.end - this.start));
  }

  reset() {
    this.move(0, this.total);
  }

  // Makes sure that an item is seen, and large enough.
  reveal(start, end) {
    // Before it is shown, everything fits.
    if (this.canvas.clientWidth === 0) return this.redraw();
    const length = this.end - this.start;
    const isSeen = start >= this.start && end <= this.end;
    const isLarge = ((end - start) / length) * this.width >= 2;
    if (isSeen && isLarge) return this.redraw();
    const wanted = isLarge ? length : Math.max((end - start) * 12, this.options.least ?? 0);
    const middle = (start + end) / 2;
    return this.move(middle - wanted / 2, middle + wanted / 2);
  }

  redraw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    const context = prepare(this.canvas);
    if (context) this.options.draw(context, this);
    const map = prepare(this.minimap);
    if (!map) return;
    const width = this.minimap.clientWidth;
    this.options.drawMap?.(map, width, MINIMAP_HEIGHT);
    const [a, b] = [this.start, this.end].map((value) => (value / this.total) * width);
    map.fillStyle = colour("--veil");
    map.fillRect(0, 0, a, MINIMAP_HEIGHT);
    map.fillRect(b, 0, width - b, MINIMAP_HEIGHT);
    map.strokeStyle = colour("--accent");
    map.lineWidth = 1.5;
    map.strokeRect(a + 0.75, 0.75, Math.max(b - a - 1.5, 1), MINIMAP_HEIGHT - 1.5);
  }

  listen() {
    const { canvas, minimap, options } = this;
    let drag = null;
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        this.pan(event.deltaX / 800);
      } else if (event.ctrlKey || document.activeElement === canvas || event.altKey) {
        event.preventDefault();
        this.zoom(Math.exp(event.deltaY / 300), this.value(event.offsetX));
      }
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.offsetX, start: this.start, end: this.end, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag) {
        const by = ((drag.x - event.offsetX) / this.width) * (drag.end - drag.start);
        drag.moved ||= Math.abs(drag.x - event.offsetX) > 4;
        if (drag.moved) {
          const start = Math.max(0, Math.min(drag.start + by, this.total - (drag.end - drag.start)));
          this.move(start, start + drag.end - drag.start);
        }
      }
      options.onHover?.(event.offsetX, event.offsetY, event);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag && !drag.moved) options.onSelect?.(event.offsetX, event.offsetY, false);
      drag = null;
    });
    canvas.addEventListener("pointercancel", () => {
      drag = null;
    });
    canvas.addEventListener("dblclick", (event) => {
      options.onSelect?.(event.offsetX, event.offsetY, true);
    });
    canvas.addEventListener("pointerleave", () => options.onHover?.(null, null, null));
    canvas.addEventListener("keydown", (event) => {
      const action = {
        "+": () => this.zoom(0.5),
        "=": () => this.zoom(0.5),
        "-": () => this.zoom(2),
        "0": () => this.reset(),
        ArrowLeft: () => this.pan(-0.2),
        ArrowRight: () => this.pan(0.2),
        ",": () => options.onStep?.(-1),
        ".": () => options.onStep?.(1),
        "[": options.onKey && (() => options.onKey(-1)),
        "]": options.onKey && (() => options.onKey(1)),
        Enter: () => options.onOpen?.(),
      }[event.key];
      if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      action();
    });
    const jump = (event) => {
      if (event.buttons === 0) return;
      const at = (event.offsetX / minimap.clientWidth) * this.total;
      const half = (this.end - this.start) / 2;
      const start = Math.max(0, Math.min(at - half, this.total - 2 * half));
      this.move(start, start + 2 * half);
    };
    minimap.addEventListener("pointerdown", jump);
    minimap.addEventListener("pointermove", jump);
  }
}

// The context of a canvas in CSS pixels, cleared.
function prepare(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (width === 0 || height === 0) return null;
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = `12px ${css("--mono")}`;
  context.textBaseline = "middle";
  return context;
}

// Buttons for those who do not use the wheel.
export function zoomButtons(viewport) {
  const make = (text, label, action) =>
    h("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
  return h(
    "div",
    { class: "choice", role: "group", "aria-label": "Zoom" },
    make("−", "Zoom out", () => viewport.zoom(2)),
    make("+", "Zoom in", () => viewport.zoom(0.5)),
    make("All", "All: show everything", () => viewport.reset()),
  );
}
