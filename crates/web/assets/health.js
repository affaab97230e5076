// Verification: runs while it is shown, with its problems linked to their place.

import { announce, badge, button, card, h, problem, replace, row, table } from "./dom.js";
import { counted, formatBytes, formatCount, shortName } from "./bytes.js";
import { getJson, isReport, streamEvents } from "./data.js";
import { link } from "./router.js";

const REDRAW = 500;
const SHOWN = 200;
const VERIFY = "Verify everything";
const STATUS = { sound: ["Sound", "yes"], damaged: ["Damaged", "no"], unreadable: ["Unreadable", "no"], unsupported: ["Not supported", "maybe"] };

export async function healthPage({ root, source, info, signal, isCurrent }) {
  const state = await getJson(`/${source}/health.json`, {}, signal);
  if (!isCurrent()) return;
  const bar = h("progress", { max: String(Math.max(state.bytes, 1)), value: 0, "aria-label": "Bytes verified" });
  const text = h("p", { class: "muted", role: "status" });
  const results = h("div", {});
  const reports = [];
  const show = () => replace(results, resultTable(reports, source, info));
  // Thousands of files are verified in a second: the table is drawn a few times.
  let drawn = 0;
  const showSoon = () => {
    if (performance.now() - drawn < REDRAW) return;
    show();
    drawn = performance.now();
  };
  let running = null;
  // The page's own signal, and that of the button.
  const verify = async () => {
    running = new AbortController();
    signal.addEventListener("abort", () => running?.abort(), { once: true });
    reports.length = 0;
    replace(start, "Stop");
    bar.value = 0;
    show();
    try {
      await streamEvents(`/${source}/verify.ndjson`, (event) => {
        if (event.event === "progress") {
          bar.value = event.bytes;
          replace(text, `${formatBytes(event.bytes)} of ${formatBytes(state.bytes)} verified`);
        } else if (event.event === "file") {
          reports.push(event.report);
          showSoon();
        } else if (event.event === "end") {
          bar.value = state.bytes;
          show();
          replace(text, verdict(event));
          announce(text.textContent);
          root.setAttribute("data-ready", "verified");
        }
      }, running.signal);
    } catch (error) {
      if (error.name !== "AbortError") replace(text, problem(error.message));
      else if (isCurrent()) {
        show();
        replace(text, `Stopped after ${counted(reports.length, "file")}.`);
        root.setAttribute("data-ready", "stopped");
      }
    }
    running = null;
    replace(start, VERIFY);
  };
  // One button, so that it keeps the focus.
  const start = button(VERIFY, () => (running ? running.abort() : verify()), { class: "primary" });
  root.append(
    h("h1", {}, "Health"),
    card("Verification",
      h("p", {}, "Reads every block and compares everything with everything else: checksums, the order of keys, indexes, filters, properties, and the MANIFEST with its files. Leaving the page stops it."),
      h("div", { class: "toolbar progress" }, !isReport() && start, bar, text)),
    card("Files", results));
  if (state.last) {
    reports.push(...state.last.reports);
    bar.value = state.bytes;
  }
  if (state.running) replace(text, "A verification is running.");
  else if (state.last) replace(text, verdict(state.last));
  else if (!isReport()) replace(text, `${counted(state.files, "table")}, ${formatBytes(state.bytes)}`);
  show();
  root.setAttribute("data-ready", "health");
}

function verdict(result) {
  const [text, kind] = STATUS[result.status] ?? [result.status, ""];
  return [badge(text, kind), ` ${counted(result.files, "file")} in ${result.seconds.toFixed(2)} s`];
}

function resultTable(reports, source, info) {
  if (reports.length === 0) return h("p", { class: "muted" }, "Nothing is verified yet.");
  const shown = [...reports].sort((a, b) => Number(a.sound) - Number(b.sound)).slice(0, SHOWN);
  return h("div", {}, table("Verified files", ["File", "Verdict", "Blocks", "Entries", "Problems"], shown.map((report) => {
    const [text, kind] = STATUS[report.status] ?? [report.status, ""];
    const number = info.kind === "database" ? Number(/(\d+)\.(sst|ldb)$/.exec(report.file)?.[1]) : undefined;
    const params = Number.isFinite(number) ? { file: number } : info.kind === "table" ? {} : null;
    const isTable = report.kind === "table" && params !== null;
    return row(
      isTable ? link(`/${source}/table`, params, {}, shortName(report.file)) : shortName(report.file),
      badge(text, kind), report.blocks ? formatCount(report.blocks) : "", report.entries ? formatCount(report.entries) : "",
      h("div", {},
        report.problems.slice(0, 20).map((it) => h("p", { class: "problem-line" },
          isTable && it.offset !== null
            ? link(`/${source}/table`, { ...params, block: it.offset }, {}, `${it.block ?? "block"} at ${formatCount(it.offset)}`) : "",
          " ", it.message)),
        report.problem_count > 20 && h("p", { class: "muted" }, `and ${formatCount(report.problem_count - 20)} more`),
        report.notes?.map((note) => h("p", { class: "muted" }, note))));
  }), "stack"), reports.length > SHOWN && h("p", { class: "muted" }, `${SHOWN} of ${formatCount(reports.length)} files, those with problems first.`));
}
