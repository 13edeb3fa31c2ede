/** What is printed: the picture as shown, and the groups or hidden variables in words, on a page or two. */
import { element, find } from "./dom";
import type { Forest } from "./forest";
import { broadTable } from "./grouppanel";
import type { Groups } from "./groups";
import { figures, hiddenTable, misfitTable } from "./overview";
import { facts } from "./panel";
import { payload } from "./payload";

/** Rows that there is room for. */
const PAIRS = 5;
const HIDDEN = 25;

export function preparePrint(forest: Forest, groups: Groups, picture: () => SVGSVGElement): void {
  addEventListener("beforeprint", () => {
    const nothing = () => {};
    const pairs = payload.misfits?.worst.slice(0, PAIRS) ?? [];
    const content = [
      element("section", { class: "columns" }, facts(figures(forest))),
      element("figure", {}, picture()),
      groups.all.length > 0
        ? element("section", { class: "next-page" }, element("h2", {}, "Groups"), broadTable(groups, nothing, true))
        : hiddenTable(forest, nothing, HIDDEN),
      ...(pairs.length > 0 ? [element("section", {}, element("h2", {}, "Badly explained pairs"), misfitTable(pairs, nothing))] : []),
    ];
    find("print").replaceChildren(...content);
  });
  addEventListener("afterprint", () => find("print").replaceChildren());
}
