/** The map: groups as rows, from the broad ones down, with what is inside of each. A group opens to its finer ones. */
import { announce, element, find, isolated } from "./dom";
import { cut, grouped, groupTitle, labelParts, oneLine, percent, title } from "./format";
import { ALL, sureness, type Groups } from "./groups";
import { plan, type Cell, type GroupRow, type Plan } from "./mapplan";
import { payload } from "./payload";
import { svgElement } from "./svg";
import { fitted } from "./textfit";
import { colours, onTheme, type Colours } from "./theme";

const FAMILY = "system-ui, sans-serif";
const NAME = { size: 14, weight: 600 };
const SMALL = { size: 12, weight: 400 };

export class GroupMap {
  readonly box = find("map");
  private readonly crumbs = find("crumbs");
  private readonly note = find("map-note");
  private readonly scroller = find("map-scroll");
  private image = svgElement("svg", {});
  private focus = ALL;
  private marked = -1;
  private active = 0;
  private shown: Plan | null = null;
  onOpen: (group: number) => void = () => {};
  onSelect: (node: number) => void = () => {};

  constructor(private readonly groups: Groups) {
    this.scroller.append(this.image);
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    onTheme(() => this.draw());
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    this.scroller.addEventListener("click", (event) => this.press(event.target as Element));
  }

  /** Opens a group, and marks a variable in it. */
  open(group: number, marked = -1): void {
    if (group !== this.focus) this.active = 0;
    this.focus = group;
    this.marked = marked;
    this.describe();
    this.draw();
    if (marked >= 0) this.scroller.querySelector(`[data-variable="${marked}"]`)?.scrollIntoView({ block: "nearest" });
    else this.scroller.scrollTop = 0;
  }

  get opened(): number {
    return this.focus;
  }

  /** The way back, and what the group is in words. */
  private describe(): void {
    const { groups, focus } = this;
    const step = (group: number, text: string) =>
      element(
        "li",
        {},
        group === focus
          ? element("span", { "aria-current": "true" }, isolated(text))
          : element("button", { type: "button", class: "link", click: () => this.onOpen(group) }, isolated(text)),
      );
    const path = groups.path(focus).map((group) => step(group, groupTitle(groups.all[group].label, 28, 2)));
    this.crumbs.replaceChildren(element("ol", {}, step(ALL, "All groups"), ...path));
    const count = groups.broad.filter((group) => groups.all[group].node !== null).length;
    const n = payload.observed.reduce<number>((sum, it) => sum + it, 0);
    const rest = groups.broad.filter((group) => groups.all[group].node === null).reduce((sum, group) => sum + groups.all[group].variables.length, 0);
    const placed = rest > 0 ? `${grouped(n - rest)} of ${grouped(n)}` : grouped(n);
    this.note.replaceChildren(
      focus === ALL
        ? `${placed} variables in ${grouped(count)} ${groups.all.some((it) => it.level > 1) ? "broad groups" : "groups"} of what goes together, the most telling first. Press one to open it.`
        : isolated(oneLine(groups.all[focus].description || "Variables that no other group says much about.")),
    );
  }

  private draw(): void {
    const width = this.scroller.clientWidth;
    if (width === 0) return;
    const height = this.scroller.clientHeight - 4;
    this.shown = plan(this.groups, this.focus, width, matchMedia("(max-width: 760px)").matches ? 0 : height);
    const image = this.paint(this.shown, width, true);
    this.image.replaceWith(image);
    this.image = image;
  }

  /** The map as shown, as an SVG image to save or print. */
  file(width = this.shown?.width || 900, height = this.shown?.height ?? 0): SVGSVGElement {
    return this.paint(plan(this.groups, this.focus, width, height), width, false);
  }

  private paint(shown: Plan, width: number, isLive: boolean): SVGSVGElement {
    const look = colours();
    const image = svgElement("svg", { width, height: shown.height, viewBox: `0 0 ${width} ${shown.height}`, "font-family": FAMILY });
    if (isLive) {
      image.setAttribute("role", "group");
      image.setAttribute("aria-label", "Map of groups");
    } else image.append(svgElement("rect", { width, height: shown.height, fill: look.background }));
    for (const head of shown.heads) image.append(text(head.x, head.y, head.text, { size: 11.5, weight: 500 }, look.muted));
    let place = 0;
    for (const row of shown.rows) image.append(this.row(row, look, isLive ? place++ : -1));
    const best = Math.max(1e-12, ...shown.cells.map((cell) => cell.information));
    for (const cell of shown.cells) image.append(this.variable(cell, best, look, isLive ? place++ : -1));
    if (shown.more) image.append(text(shown.more.x, shown.more.y, shown.more.text, SMALL, look.muted));
    return image;
  }

  private button(place: number, label: string, data: Record<string, number>): SVGGElement {
    const made = svgElement("g", {});
    if (place < 0) return made;
    made.setAttribute("role", "button");
    made.setAttribute("class", "cell");
    made.setAttribute("aria-label", label);
    made.setAttribute("tabindex", place === this.active ? "0" : "-1");
    for (const [name, value] of Object.entries(data)) made.dataset[name] = String(value);
    return made;
  }

  private row(row: GroupRow, look: Colours, place: number): SVGGElement {
    const { groups } = this;
    const group = groups.all[row.group];
    const hue = groups.hue(row.group, look);
    const finer = groups.children(row.group);
    const facts = groupFacts(row.group, groups);
    const opens = finer.length > 0 ? `, opens ${finer.length} finer ${finer.length === 1 ? "group" : "groups"}` : ", opens its variables";
    const made = this.button(place, `${groupTitle(group.label)}: ${facts.join(", ")}${opens}`, { group: row.group });
    const { x, y, width, height } = row;
    const inner = width - 44;
    made.append(
      svgElement("title", {}, `${labelParts(group.label).join(" · ")}\n${oneLine(cut(group.description, 300))}`),
      svgElement("rect", { x, y, width, height, rx: 6, fill: hue, "fill-opacity": look.tint, class: "back" }),
      svgElement("rect", { x, y, width: 5, height, rx: 2.5, fill: hue }),
    );
    let at = y + 14;
    for (const line of row.name) {
      made.append(text(x + 16, at, line, NAME, look.ink));
      at += 17;
    }
    made.append(text(x + 16, at, fitted(facts.join(" · "), inner, SMALL), SMALL, look.muted));
    at += 7;
    if (group.share !== null && at + 4 < y + height) {
      const most = Math.min(inner, 240);
      made.append(
        svgElement("rect", { x: x + 16, y: at, width: most, height: 4, rx: 2, fill: look.line, "fill-opacity": 0.45 }),
        svgElement("rect", { x: x + 16, y: at, width: Math.max(2, most * group.share), height: 4, rx: 2, fill: hue }),
      );
    }
    made.append(text(x + width - 18, y + height / 2 + 1, "›", { size: 18, weight: 400 }, look.muted));
    for (const cell of row.finer) {
      const small = svgElement("g", { class: "finer" });
      if (place >= 0 && cell.group >= 0) small.dataset.group = String(cell.group);
      const label = cell.group < 0 ? cell.text : groups.all[cell.group].label;
      small.append(
        svgElement("title", {}, labelParts(label).join(" · ")),
        svgElement("rect", { x: cell.x, y: cell.y, width: cell.width, height: cell.height, rx: 4, fill: hue, "fill-opacity": look.tint * 0.6, class: "back" }),
        text(cell.x + 8, cell.y + cell.height / 2, fitted(labelParts(label, 40).join(" · "), cell.width - 16, SMALL), SMALL, look.ink),
      );
      made.append(small);
    }
    row.words.lines.forEach((line, ix) => made.append(text(row.words.x, row.words.y + ix * 16, line, SMALL, look.ink)));
    return made;
  }

  private variable(cell: Cell, best: number, look: Colours, place: number): SVGGElement {
    const hue = this.groups.hue(this.focus, look);
    const { x, y, width, height } = cell;
    const name = title(cell.node, 200);
    const made = this.button(place, cut(name, 100), { variable: cell.node });
    const isMarked = cell.node === this.marked;
    const share = Math.sqrt(Math.max(0, cell.information) / best);
    made.append(
      svgElement("title", {}, oneLine(cut(name, 300))),
      svgElement("rect", { x, y, width, height, rx: 4, fill: hue, "fill-opacity": look.tint * (isMarked ? 2 : 0.5), stroke: isMarked ? look.accent : null, "stroke-width": isMarked ? 2 : null, class: "back" }),
      svgElement("rect", { x: x + 8, y: y + height - 5, width: Math.max(2, (width - 16) * share), height: 2.5, rx: 1, fill: hue }),
      text(x + 8, y + height / 2 - 2, fitted(name, width - 16, SMALL), isMarked ? { ...SMALL, weight: 600 } : SMALL, look.ink),
    );
    return made;
  }

  private press(target: Element): void {
    const cell = target.closest<SVGGElement>("[data-group], [data-variable]");
    if (!cell) return;
    if (cell.dataset.variable !== undefined) this.onSelect(Number(cell.dataset.variable));
    else this.onOpen(Number(cell.dataset.group));
  }

  private key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const buttons = [...this.scroller.querySelectorAll<SVGGElement>(".cell")];
    const at = buttons.indexOf((event.target as Element).closest<SVGGElement>(".cell") as SVGGElement);
    if (at < 0) return;
    const rows = this.shown?.rows.length ?? 0;
    // Variables stand in columns beside each other.
    const down = at >= rows ? (this.shown?.columns ?? 1) : 1;
    const go = (to: number) => {
      const place = Math.min(buttons.length - 1, Math.max(0, to));
      buttons[this.active]?.setAttribute("tabindex", "-1");
      this.active = place;
      buttons[place].setAttribute("tabindex", "0");
      buttons[place].focus();
    };
    const press = () => {
      const before = this.focus;
      this.active = at;
      this.press(buttons[at]);
      if (this.focus !== before) this.first();
      else this.scroller.querySelectorAll<SVGGElement>(".cell")[at]?.focus();
    };
    const up = () => {
      if (this.focus === ALL) return;
      const from = this.focus;
      this.onOpen(this.groups.all[from].parent ?? ALL);
      const place = this.shown?.rows.findIndex((row) => row.group === from) ?? 0;
      this.active = Math.max(0, place);
      this.draw();
      this.first();
    };
    const acts: Record<string, () => void> = {
      ArrowDown: () => go(at + down),
      ArrowUp: () => go(at - (at - rows >= down ? down : 1)),
      ArrowRight: () => (at >= rows ? go(at + 1) : press()),
      ArrowLeft: () => (at > rows ? go(at - 1) : up()),
      Home: () => go(0),
      End: () => go(buttons.length - 1),
      Enter: press,
      " ": press,
      Backspace: up,
      Escape: up,
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  private first(): void {
    this.scroller.querySelector<SVGGElement>(".cell[tabindex='0']")?.focus();
    announce(this.note.textContent ?? "");
  }
}

/** Share, size and sureness of a group, in words. */
export function groupFacts(group: number, groups: Groups): string[] {
  const { share, variables, support } = groups.all[group];
  const facts: string[] = [];
  if (share !== null) facts.push(`${percent(share)} of rows`);
  facts.push(`${grouped(variables.length)} ${variables.length === 1 ? "variable" : "variables"}`);
  if (support !== null) facts.push(`${sureness(support)} support ${percent(support)}`);
  return facts;
}

function text(x: number, y: number, content: string, font: { size: number; weight: number }, fill: string): SVGTextElement {
  const look = { x, y, "font-size": font.size, "font-weight": font.weight, fill, "dominant-baseline": "middle", direction: "ltr" };
  return svgElement("text", look, content);
}

