/** What is printed: the picture as shown, and the groups or hidden variables in words, on a page or two. */
import { element, find } from "./dom";
import type { Forest } from "./forest";
import { broadTable } from "./grouppanel";
import type { Groups } from "./groups";
import { figures, overview } from "./overview";
import { facts } from "./panel";

export function preparePrint(forest: Forest, groups: Groups, picture: () => SVGSVGElement): void {
  addEventListener("beforeprint", () => {
    const nothing = () => {};
    const hasLevels = groups.all.some((group) => group.level > 1);
    const words = hasLevels
      ? [
          element("section", {}, element("h2", {}, "Broad groups"), broadTable(groups, nothing, 8)),
          element("section", { class: "columns" }, facts(figures(forest))),
        ]
      : overview(forest, nothing, groups, nothing);
    find("print").replaceChildren(element("figure", {}, picture()), ...words);
  });
  addEventListener("afterprint", () => find("print").replaceChildren());
}
