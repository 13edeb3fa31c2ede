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
    const figure = element("figure", {}, picture());
    const content = hasLevels
      ? [
          element("section", { class: "columns" }, facts(figures(forest))),
          figure,
          element("section", { class: "next-page" }, element("h2", {}, "Broad groups"), broadTable(groups, nothing, true)),
        ]
      : [figure, ...overview(forest, nothing, groups, nothing)];
    find("print").replaceChildren(...content);
  });
  addEventListener("afterprint", () => find("print").replaceChildren());
}
