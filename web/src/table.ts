/** The table of groups: to sort, and to copy into a spreadsheet. */
import { announce, element, find, isolated } from "./dom";
import { cut, grouped, groupTitle, number, oneLine, percent } from "./format";
import { ALL, sureness, type Groups } from "./groups";
import { payload, type Group, type Topic } from "./payload";
import { colours, onTheme } from "./theme";

const WORDS = 8;

interface Column {
  head: string;
  isNumber: boolean;
  /** What the table is sorted by. */
  value: (group: Group, ix: number) => number | string;
  show: (group: Group, ix: number) => Node | string;
  /** What is copied. */
  copy: (group: Group, ix: number) => string;
}

const plain = (value: number | null) => (value === null ? "" : String(value));
const total = (group: Group) => group.information.reduce((sum, it) => sum + it, 0);

/** Words and coherence of the groups of a model of words. */
function topicColumns(groups: Groups): Column[] {
  const coherence = (head: string, of: (topic: Topic) => number | null): Column => {
    const value = (group: Group) => (group.topic ? of(group.topic) : null);
    return {
      head,
      isNumber: true,
      value: (group) => value(group) ?? -2,
      show: (group) => value(group)?.toFixed(2) ?? "",
      copy: (group) => plain(value(group)),
    };
  };
  const words = (group: Group) => (group.topic?.words ?? []).map(oneLine).join(", ");
  const measured = [coherence("NPMI", (topic) => topic.npmi), coherence("C_V", (topic) => topic.cV)];
  return [
    ...measured.filter(({ value }) => groups.all.some((group, ix) => value(group, ix) !== -2)),
    { head: "Words of the topic", isNumber: false, value: words, show: (group) => isolated(words(group)), copy: words },
  ];
}

export class GroupTable {
  private readonly box = find("table");
  private readonly columns: Column[];
  private order: number[];
  private sorted = { column: -1, isDown: false };
  onOpen: (group: number) => void = () => {};

  constructor(private readonly groups: Groups) {
    this.order = this.outline(ALL);
    this.columns = this.allColumns();
    onTheme(() => this.draw());
  }

  /** Each group followed by the finer ones inside it. */
  private outline(group: number): number[] {
    return this.groups.children(group).flatMap((it) => [it, ...this.outline(it)]);
  }

  private allColumns(): Column[] {
    const { groups } = this;
    const parent = (group: Group) => (group.parent === null ? "" : groups.all[group.parent].label);
    const words = (group: Group, most: number) =>
      group.variables.slice(0, most).map((node) => oneLine(cut(payload.names[node], most === WORDS ? 30 : 200)));
    const columns: Column[] = [
      {
        head: "Group",
        isNumber: false,
        value: (group) => group.label.toLowerCase(),
        show: (group, ix) => {
          const link = element(
            "button",
            { type: "button", class: "link hidden-name", click: () => this.onOpen(ix) },
            isolated(groupTitle(group.label)),
          );
          const dot = element("span", { class: "swatch", "aria-hidden": "true", "--swatch": groups.hue(ix, colours()) });
          const indent = this.sorted.column < 0 ? (group.level - 1) * 14 : 0;
          return element("span", { class: "group-name", "--indent": `${indent}px` }, dot, link);
        },
        copy: (group) => group.label,
      },
      { head: "Level", isNumber: true, value: (group) => group.level, show: (group) => String(group.level), copy: (group) => String(group.level) },
      { head: "Variables", isNumber: true, value: (group) => group.variables.length, show: (group) => grouped(group.variables.length), copy: (group) => String(group.variables.length) },
      { head: "Share of rows", isNumber: true, value: (group) => group.share ?? -1, show: (group) => (group.share === null ? "" : percent(group.share)), copy: (group) => plain(group.share) },
      {
        head: "Support",
        isNumber: true,
        value: (group) => group.support ?? -1,
        show: (group) => (group.support === null ? "" : `${sureness(group.support)} ${percent(group.support)}`),
        copy: (group) => plain(group.support),
      },
      { head: "Nats", isNumber: true, value: total, show: (group) => number(total(group)), copy: (group) => String(Number(total(group).toPrecision(6))) },
      {
        head: "In words",
        isNumber: false,
        value: (group) => group.description.toLowerCase(),
        show: (group) => isolated(oneLine(group.description)),
        copy: (group) => group.description,
      },
      {
        head: "Most telling variables",
        isNumber: false,
        value: (group) => words(group, 1)[0] ?? "",
        show: (group) => isolated(words(group, WORDS).join(", ") + (group.variables.length > WORDS ? ` +${grouped(group.variables.length - WORDS)}` : "")),
        copy: (group) => words(group, 1e9).join(", "),
      },
    ];
    if (groups.all.some((group) => group.level > 1))
      columns.splice(2, 0, {
        head: "Inside",
        isNumber: false,
        value: (group) => parent(group).toLowerCase(),
        show: (group) => isolated(groupTitle(parent(group), 24, 2)),
        copy: parent,
      });
    // A model of words has topics, with the coherence of their words if the page has data.
    if (groups.all.some((group) => group.topic)) columns.push(...topicColumns(groups));
    return columns.filter((column) => column.head !== "Support" || groups.all.some((group) => group.support !== null));
  }

  private sort(column: number): void {
    // Numbers begin with the largest; a third press restores the order of the groups.
    const { isNumber, value } = this.columns[column];
    const wasDown = this.sorted.isDown;
    if (this.sorted.column !== column) this.sorted = { column, isDown: isNumber };
    else if (wasDown === isNumber) this.sorted = { column, isDown: !isNumber };
    else this.sorted = { column: -1, isDown: false };
    this.order = this.outline(ALL);
    if (this.sorted.column >= 0) {
      const sign = this.sorted.isDown ? -1 : 1;
      const of = (ix: number) => value(this.groups.all[ix], ix);
      const compare = (a: number | string, b: number | string) => (a < b ? -1 : a > b ? 1 : 0);
      this.order.sort((a, b) => sign * compare(of(a), of(b)) || a - b);
    }
    this.draw();
    this.box.querySelectorAll<HTMLElement>("th button")[column]?.focus();
    announce(this.sorted.column < 0 ? "In the order of the groups" : `Sorted by ${this.columns[column].head}`);
  }

  draw(): void {
    if (this.box.hidden) return;
    const heads = this.columns.map((column, ix) => {
      const isSorted = this.sorted.column === ix;
      const sign = isSorted ? (this.sorted.isDown ? " ↓" : " ↑") : "";
      return element(
        "th",
        { scope: "col", class: column.isNumber ? "num" : "", "aria-sort": isSorted ? (this.sorted.isDown ? "descending" : "ascending") : "none" },
        element("button", { type: "button", class: "link", click: () => this.sort(ix) }, column.head, sign),
      );
    });
    const rows = this.order.map((ix) => {
      const group = this.groups.all[ix];
      const cells = this.columns.map((column, at) =>
        element(at === 0 ? "th" : "td", { scope: at === 0 ? "row" : null, class: column.isNumber ? "num" : "" }, column.show(group, ix)),
      );
      return element("tr", {}, ...cells);
    });
    const copied = element("span", { class: "note", role: "status" });
    const copy = () => {
      copyText(this.text()).then(
        () => (copied.textContent = `${grouped(this.order.length)} rows copied`),
        () => (copied.textContent = "The browser does not allow it: download the table instead"),
      );
    };
    this.box.replaceChildren(
      element("p", { class: "table-tools" }, element("button", { type: "button", id: "copy-table", click: copy }, "Copy as TSV"), copied),
      element("div", { class: "scroll" }, element("table", { class: "groups" }, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows))),
    );
  }

  /** Tab-separated, in the order shown. */
  text(): string {
    const cell = (text: string) => {
      const line = text.replace(/[\t\r\n\u0000]+/g, " ");
      // A spreadsheet would calculate it.
      return /^[=+\-@]/.test(line) && Number.isNaN(Number(line)) ? `'${line}` : line;
    };
    const lines = this.order.map((ix) => this.columns.map((column) => cell(column.copy(this.groups.all[ix], ix))).join("\t"));
    return [this.columns.map((column) => column.head).join("\t"), ...lines].join("\n") + "\n";
  }
}

async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page from disk may have no clipboard of its own.
    const area = element("textarea", { class: "visually-hidden", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    if (!isDone) throw new Error("not allowed");
  }
}
