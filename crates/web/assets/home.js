// The list of what is inspected.

import { badge, card, h, problem } from "./dom.js";
import { formatBytes, shortName } from "./bytes.js";
import { link } from "./router.js";

export function homePage({ root, index }) {
  root.append(
    h("h1", {}, "Sources"),
    h(
      "div",
      { class: "cards" },
      index.sources.map((source, at) =>
        card(
          shortName(source.file),
          shortName(source.file) !== source.file && h("p", { class: "path" }, source.file),
          h("p", {}, badge(source.kind, source.kind === "failed" ? "no" : ""), " ", source.size === null ? "" : formatBytes(source.size)),
          source.problem && problem(source.problem),
          source.kind !== "failed" &&
            link(`/${at}/${source.kind}`, {}, { class: "button" }, `Open the ${source.kind}`),
        ),
      ),
    ),
  );
}
