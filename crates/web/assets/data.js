// Where pages get their data: from the server, or from the report that they are in.

let embedded = null;

// The data of a report; null on a server.
function reportData() {
  if (embedded === null) {
    const element = document.getElementById("report-data");
    embedded = element ? JSON.parse(element.textContent) : false;
  }
  return embedded || null;
}

export function isReport() {
  return reportData() !== null;
}

// An empty key is a key, too.
const KEYS = ["key", "from", "after", "before"];

// An address with its parameters in order, so that a report finds it.
export function addressOf(path, params = {}) {
  const pairs = Object.entries(params)
    .filter(([name, value]) => value !== undefined && value !== null && (value !== "" || KEYS.includes(name)))
    .map(([name, value]) => [name, String(value)])
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const query = new URLSearchParams(pairs).toString();
  return query === "" ? path : `${path}?${query}`;
}

class PageError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export async function getJson(path, params = {}, signal = undefined) {
  const address = addressOf(path, params);
  const report = reportData();
  if (report !== null) {
    if (Object.hasOwn(report.pages, address)) return report.pages[address];
    throw new PageError("This is not in the report. Use sst serve to see it.", 404);
  }
  const response = await fetch(address, { signal, headers: { Accept: "application/json" } });
  const text = await response.text();
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
    // A refusal is plain text.
  }
  if (!response.ok) throw new PageError(body?.error ?? text.trim(), response.status);
  return body;
}

// Passes the lines of an answer to `onEvent`, each as soon as it is there.
export async function streamEvents(path, onEvent, signal) {
  const response = await fetch(path, { signal });
  if (!response.ok) {
    const body = await response.json();
    throw new PageError(body.error, response.status);
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) onEvent(JSON.parse(line));
  }
}
