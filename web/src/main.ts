/** Puts the page together: one selection, shown in the picture, the outline and the panel. */
import { announce, element, find, isolated } from "./dom";
import { startDownloads } from "./downloads";
import { Forest } from "./forest";
import { grouped, oneLine, title } from "./format";
import { Outline } from "./outline";
import { overview } from "./overview";
import { nodePanel } from "./panel";
import { payload } from "./payload";
import { Picture } from "./picture";
import { startSearch } from "./search";
import { startTheme } from "./theme";

const forest = new Forest();
startTheme();
const picture = new Picture(forest);
const outline = new Outline(forest);
const panel = find("panel");
const peek = find("peek");
let selected = -1;

/** Hidden rows of the print: more than on the screen. */
const PRINTED = 300;

function describe(): void {
  find("title").replaceChildren(isolated(oneLine(payload.title)));
  const observed = payload.observed.reduce<number>((sum, it) => sum + it, 0);
  const parts = [`${grouped(observed)} observed`, `${grouped(forest.n - observed)} hidden`];
  if (payload.fit.rows ?? payload.fit.learnedRows)
    parts.push(`${grouped((payload.fit.rows ?? payload.fit.learnedRows) as number)} rows`);
  find("subtitle").textContent = parts.join(" · ");
  const strength = payload.family === "tree" ? "Thicker edges are shorter." : "Thicker edges carry more information.";
  const doubt = payload.supports.some((it) => it !== null && it < 0.5)
    ? " Dashed: support below one half."
    : "";
  find("legend").replaceChildren(
    element("span", { class: "dot observed" }),
    "observed ",
    element("span", { class: "dot hidden-node" }),
    `hidden. ${strength}${doubt}`,
  );
}

function fillPanel(): void {
  // Details stand below the program: they may not be read yet.
  if (selected < 0) panel.replaceChildren(...overview(forest, select));
  else {
    const node = selected;
    const actions = {
      back: () => select(-1),
      centre: () => {
        forest.reroot(node);
        picture.fit();
        announce("The tree is seen from here now");
      },
      toggle: () => forest.toggle(node),
    };
    panel.replaceChildren(...nodePanel(forest, node, select, actions));
  }
}

function select(node: number): void {
  selected = node;
  if (node >= 0) forest.reveal(node);
  fillPanel();
  panel.scrollTop = 0;
  outline.select(node);
  picture.mark({ selected: node });
  peek.hidden = node < 0;
  if (node >= 0) {
    picture.show(node);
    peek.replaceChildren(isolated(title(node, 28, 2)), " ↓");
    announce(`${title(node, 60)} selected`);
  }
}

picture.onSelect = select;
outline.onSelect = select;
describe();
// The panel's button tells whether its node is collapsed; sizes below change with the root.
forest.onChange(fillPanel);
startSearch(select, (matches) => picture.mark({ matches }));
startDownloads();
const on = (id: string, act: () => void) => find(id).addEventListener("click", act);
on("radial", () => picture.setLayout("radial"));
on("layered", () => picture.setLayout("layered"));
on("fewer", () => forest.fewer());
on("more", () => forest.more());
on("all", () => forest.expandAll());
on("zoom-in", () => picture.zoom(1.4));
on("zoom-out", () => picture.zoom(1 / 1.4));
on("fit", () => picture.fit());
on("peek", () => panel.scrollIntoView({ behavior: "smooth", block: "start" }));
document.addEventListener("keydown", (event) => {
  const isBusy = (event.target as HTMLElement).matches?.("input, .menu *");
  if (event.key === "Escape" && selected >= 0 && !isBusy) select(-1);
});
addEventListener("beforeprint", () => {
  if (selected >= 0) find("print").replaceChildren(...overview(forest, select, PRINTED));
});
addEventListener("afterprint", () => find("print").replaceChildren());
fillPanel();
requestAnimationFrame(() => performance.mark("latentree-drawn"));
document.documentElement.dataset.ready = "";
