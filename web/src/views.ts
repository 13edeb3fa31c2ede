/** Map, tree or table: one of them is shown. */
import { find } from "./dom";
import type { Groups } from "./groups";
import { payload } from "./payload";

export type View = "map" | "tree" | "table";

const VIEWS: View[] = ["map", "tree", "table"];
/** With more observed variables the page opens with the map. */
const MANY = 60;

export class Views {
  shown: View = "tree";
  onShow: (view: View) => void = () => {};

  constructor(private readonly groups: Groups) {
    // The view is known before anything is measured.
    const observed = payload.observed.reduce<number>((sum, it) => sum + it, 0);
    this.shown = groups.all.length > 0 && observed > MANY ? "map" : "tree";
    this.apply();
  }

  start(): void {
    find("views").hidden = this.groups.all.length === 0;
    VIEWS.forEach((view) => find(`view-${view}`).addEventListener("click", () => this.show(view)));
    document.addEventListener("keydown", (event) => {
      const isTyping = (event.target as HTMLElement).matches?.("input, textarea, select");
      const view = VIEWS[Number(event.key) - 1];
      if (view && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey && this.groups.all.length > 0) this.show(view);
    });
    this.onShow(this.shown);
  }

  show(view: View): void {
    if (view === this.shown) return;
    this.shown = view;
    this.apply();
    this.onShow(view);
  }

  private apply(): void {
    document.documentElement.dataset.view = this.shown;
    for (const view of VIEWS) find(`view-${view}`).setAttribute("aria-pressed", String(view === this.shown));
    find("map").hidden = this.shown !== "map";
    find("table").hidden = this.shown !== "table";
    find("canvas").hidden = this.shown !== "tree";
  }
}
