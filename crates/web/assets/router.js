// The address is the view: pages are found by it, and it can be shared.

import { addressOf, isReport } from "./data.js";
import { h } from "./dom.js";

let onNavigate = () => {};

export function setNavigator(navigator) {
  onNavigate = navigator;
}

// The path and parameters of the current view.
export function currentView() {
  const address = isReport()
    ? location.hash.slice(1) || "/"
    : `${location.pathname}${location.search}`;
  const [path, query = ""] = address.split(/\?(.*)/s);
  const params = Object.fromEntries(new URLSearchParams(query));
  delete params.token;
  // The default column family has no name in addresses.
  if (params.cf === "default") delete params.cf;
  return { path, params };
}

function hrefOf(path, params) {
  const address = addressOf(path, params);
  return isReport() ? `#${address}` : address;
}

export function navigate(path, params = {}) {
  history.pushState(null, "", hrefOf(path, params));
  onNavigate();
}

// Changes parameters of the view without loading it again.
export function keepInAddress(changes) {
  const { path, params } = currentView();
  history.replaceState(null, "", hrefOf(path, { ...params, ...changes }));
  document.querySelector("a.twin")?.setAttribute("href", twinOf(currentView()));
}

// A link to a view.
export function link(path, params, properties, ...children) {
  const onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    navigate(path, params);
  };
  return h("a", { href: hrefOf(path, params), onclick, ...properties }, ...children);
}

// The JSON of a view.
export function twinOf({ path, params }) {
  const page = path === "/" ? "/index" : path;
  return addressOf(`${page}.json`, params);
}
