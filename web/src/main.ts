/** Puts the page together: one selection, shown in the map, the tree, the outline and the panel. */
import { announce, find, isolated } from "./dom";
import { startDownloads } from "./downloads";
import { Forest } from "./forest";
import { grouped, oneLine, title } from "./format";
import { otherPanel } from "./grouppanel";
import { ALL, Groups } from "./groups";
import { startHelp } from "./help";
import { drawLegend } from "./legend";
import { GroupMap } from "./map";
import { Outline } from "./outline";
import { overview } from "./overview";
import { nodePanel } from "./panel";
import { payload } from "./payload";
import { Picture } from "./picture";
import { preparePrint } from "./print";
import { startSearch } from "./search";
import { pngFile, svgFile } from "./svg";
import { GroupTable } from "./table";
import { onTheme, startTheme } from "./theme";
import { Views } from "./views";

const groups = new Groups();
const forest = new Forest(groups);
startTheme();
const views = new Views(groups);
const map = new GroupMap(groups);
const table = new GroupTable(groups);
const picture = new Picture(forest);
const outline = new Outline(forest);
const panel = find("panel");
const peek = find("peek");
let selected = -1;
/** Size of a printed map. */
const PRINTED = { width: 900, height: 640 };

function describe(): void {
  find("title").replaceChildren(isolated(oneLine(payload.title)));
  const observed = payload.observed.reduce<number>((sum, it) => sum + it, 0);
  const parts = [`${grouped(observed)} observed`, `${grouped(forest.n - observed)} hidden`];
  if (payload.fit.rows ?? payload.fit.learnedRows)
    parts.push(`${grouped((payload.fit.rows ?? payload.fit.learnedRows) as number)} rows`);
  find("subtitle").textContent = parts.join(" · ");
}

function fillPanel(): void {
  // Details stand below the program: they may not be read yet.
  if (selected >= 0) {
    const node = selected;
    const actions = {
      back: () => select(-1),
      centre: () => {
        forest.reroot(node);
        picture.fit();
        announce("The tree is seen from here now");
      },
      toggle: () => forest.toggle(node),
      tree: () => views.show("tree"),
      open,
    };
    panel.replaceChildren(...nodePanel(forest, node, select, actions, groups));
  } else if (map.opened !== ALL) panel.replaceChildren(...otherPanel(groups, map.opened, select, open));
  else panel.replaceChildren(...overview(forest, select, groups, open));
}

function select(node: number): void {
  map.open(node < 0 ? ALL : groups.finest[node], node >= 0 && payload.observed[node] ? node : -1);
  choose(node);
}

/** Opens a group on the map, and with it its hidden variable. */
function open(group: number): void {
  map.open(group);
  choose(group === ALL ? -1 : (groups.all[group].node ?? -1));
}

function choose(node: number): void {
  selected = node;
  if (node >= 0) forest.reveal(node);
  fillPanel();
  panel.scrollTop = 0;
  outline.select(node);
  picture.mark({ selected: node });
  peek.hidden = node < 0;
  document.documentElement.toggleAttribute("data-chosen", node >= 0);
  if (node >= 0) {
    picture.show(node);
    peek.replaceChildren(isolated(title(node, 28, 2)), " ↓");
    announce(`${title(node, 60)} selected`);
  }
}

picture.onSelect = select;
outline.onSelect = select;
map.onSelect = select;
map.onOpen = open;
table.onOpen = (group) => {
  views.show("map");
  open(group);
};
views.onShow = (view) => {
  drawLegend(view, groups, open);
  if (view === "table") table.draw();
  if (view === "tree" && selected >= 0) requestAnimationFrame(() => picture.show(selected));
};
describe();
// The panel's button tells whether its node is collapsed; sizes below change with the root.
forest.onChange(fillPanel);
onTheme(() => drawLegend(views.shown, groups, open));
startSearch(groups, select, (matches) => picture.mark({ matches }));
const isMap = () => views.shown !== "tree" && groups.all.length > 0;
startDownloads({
  svg: () => svgFile(isMap() ? map.file() : picture.image()),
  png: () => {
    if (!isMap()) return new Promise((done) => picture.bitmap().toBlob(done));
    const image = map.file();
    return pngFile(image, image.width.baseVal.value, image.height.baseVal.value);
  },
  tsv: groups.all.length > 0 ? () => table.text() : null,
});
startHelp(groups);
preparePrint(forest, groups, () => (isMap() ? map.file(PRINTED.width, PRINTED.height) : picture.image()));
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
  const target = event.target as HTMLElement;
  const isBusy = target.matches?.("input, .menu *") || find<HTMLDialogElement>("help").open;
  if (event.key === "Escape" && !isBusy && (selected >= 0 || map.opened !== ALL)) open(ALL);
});
map.open(ALL);
views.start();
fillPanel();
requestAnimationFrame(() => performance.mark("latentree-drawn"));
document.documentElement.dataset.ready = "";
