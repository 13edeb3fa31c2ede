/** The tree as text: a list of which only the lines in view exist, that is a tree to assistive technology. */
import { element, find } from "./dom";
import type { Forest } from "./forest";
import { cut, grouped, oneLine, title } from "./format";
import { payload } from "./payload";
import { colours, onTheme } from "./theme";

const LINE = 28;
const AROUND = 8;
const DEEPEST = 7;

export class Outline {
  private readonly box = find("outline");
  private readonly spacer = element("div", { class: "spacer", role: "none" });
  private visible: Int32Array;
  private place: Int32Array;
  private active = 0;
  private selected = -1;
  private frame = 0;
  onSelect: (node: number) => void = () => {};

  constructor(private readonly forest: Forest) {
    this.visible = forest.visible();
    this.place = new Int32Array(forest.n).fill(-1);
    this.box.append(this.spacer);
    this.box.addEventListener("scroll", () => this.later());
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.later()).observe(this.box);
    forest.onChange(() => this.update());
    onTheme(() => this.later());
    this.update();
  }

  private update(): void {
    const node = this.visible[this.active];
    this.visible = this.forest.visible();
    this.place.fill(-1);
    this.visible.forEach((node, place) => (this.place[node] = place));
    // If the active line is gone, the nearest ancestor takes over.
    let up = node;
    while (up >= 0 && this.place[up] < 0) up = this.forest.parent[up];
    this.active = Math.max(0, up >= 0 ? this.place[up] : 0);
    const count = this.visible.length;
    find("outline-count").textContent =
      count === this.forest.n ? grouped(count) : `${grouped(count)} of ${grouped(this.forest.n)}`;
    this.later();
  }

  /** Marks a node and brings it into view. */
  select(node: number): void {
    this.selected = node;
    if (node >= 0 && this.place[node] >= 0) {
      this.active = this.place[node];
      this.scroll();
    }
    this.later();
  }

  private scroll(): void {
    const top = this.active * LINE;
    const { scrollTop, clientHeight } = this.box;
    if (top < scrollTop) this.box.scrollTop = top;
    else if (top + LINE > scrollTop + clientHeight) this.box.scrollTop = top + LINE - clientHeight;
  }

  private later(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.render();
    });
  }

  private render(): void {
    const { scrollTop, clientHeight } = this.box;
    const first = Math.max(0, Math.floor(scrollTop / LINE) - AROUND);
    const last = Math.min(this.visible.length, Math.ceil((scrollTop + clientHeight) / LINE) + AROUND);
    const lines: HTMLElement[] = [];
    for (let place = first; place < last; place++) lines.push(this.line(place));
    this.spacer.style.height = `${this.visible.length * LINE}px`;
    this.spacer.replaceChildren(...lines);
    if (this.active >= first && this.active < last)
      this.box.setAttribute("aria-activedescendant", `line-${this.visible[this.active]}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  private line(place: number): HTMLElement {
    const { forest } = this;
    const node = this.visible[place];
    const parent = forest.parent[node];
    const siblings = parent < 0 ? forest.roots : forest.children(parent);
    const isOpen = forest.hasChildren(node) ? !forest.collapsed[node] : undefined;
    const isObserved = payload.observed[node] === 1;
    const line = element(
      "div",
      {
        id: `line-${node}`,
        role: "treeitem",
        class: place === this.active ? "line active" : "line",
        "data-node": node,
        "aria-level": forest.depth[node] + 1,
        "aria-setsize": siblings.length,
        "aria-posinset": siblings.length > 200 ? undefined : siblings.indexOf(node) + 1,
        "aria-expanded": isOpen === undefined ? undefined : String(isOpen),
        "aria-selected": String(node === this.selected),
        "aria-label": isObserved
          ? cut(payload.names[node], 200)
          : `Hidden variable ${cut(payload.names[node], 60)}: ${title(node, 60)}`,
      },
      element(
        "span",
        { class: isOpen === undefined ? "twist none" : "twist", "aria-hidden": "true" },
        isOpen === undefined ? "" : isOpen ? "▾" : "▸",
      ),
      element("span", { class: `dot ${isObserved ? "observed" : "hidden-node"}`, "aria-hidden": "true" }),
      element("bdi", { class: "name" }, isObserved ? oneLine(cut(payload.names[node], 120)) : title(node, 40)),
      !isObserved && element("span", { class: "code" }, oneLine(cut(payload.names[node], 12))),
    );
    line.style.top = `${place * LINE}px`;
    line.style.paddingInlineStart = `${8 + Math.min(DEEPEST, forest.depth[node]) * 14}px`;
    const { branches } = colours();
    if (forest.branch[node] >= 0) line.style.setProperty("--dot", branches[forest.branch[node] % branches.length]);
    return line;
  }

  private click(event: MouseEvent): void {
    const target = event.target as HTMLElement;
    const line = target.closest<HTMLElement>("[data-node]");
    if (!line) return;
    const node = Number(line.dataset.node);
    this.active = this.place[node];
    if (target.classList.contains("twist") && this.forest.hasChildren(node)) this.forest.toggle(node);
    else this.onSelect(node);
    this.later();
  }

  private key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { forest } = this;
    const node = this.visible[this.active];
    const page = Math.max(1, Math.floor(this.box.clientHeight / LINE) - 1);
    const go = (place: number) => {
      this.active = Math.min(this.visible.length - 1, Math.max(0, place));
      this.scroll();
      this.later();
    };
    const isOpen = forest.hasChildren(node) && !forest.collapsed[node];
    const actions: Record<string, () => void> = {
      ArrowDown: () => go(this.active + 1),
      ArrowUp: () => go(this.active - 1),
      PageDown: () => go(this.active + page),
      PageUp: () => go(this.active - page),
      Home: () => go(0),
      End: () => go(this.visible.length - 1),
      ArrowRight: () => (isOpen ? go(this.active + 1) : forest.toggle(node, false)),
      ArrowLeft: () => (isOpen ? forest.toggle(node, true) : forest.parent[node] >= 0 && go(this.place[forest.parent[node]])),
      Enter: () => this.onSelect(node),
      " ": () => this.onSelect(node),
    };
    const act = actions[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}
