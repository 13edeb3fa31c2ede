/** The groups: a list of components or topics, or a hierarchy to open and close. */
import { element, isolated } from "../dom";
import { payload, type Group } from "./payload";

/** Levels of a hierarchy that are open at first. */
const OPEN_LEVELS = 3;

export const percent = (share: number): string => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`;
const shown = (value: number): string => (Math.abs(value) >= 100 || value === 0 ? value.toFixed(0) : value.toPrecision(3));

/** What groups are called. */
export const noun = { mixture: "component", topics: "topic", clusters: "cluster" }[payload.kind];

/** The most frequent features of a group beside all rows. */
function frequent(group: Group, colour: string): HTMLElement | null {
  if (group.frequent.length === 0) return null;
  const most = Math.max(...group.frequent.map(([feature, own]) => (payload.features[feature].isNumber ? 0 : own)), 1e-9);
  // Without data, a topic's word has a probability and a count has a rate.
  const isShare = payload.sample !== null;
  const line = ([feature, own, all]: [number, number, number]) => {
    const { name, isNumber } = payload.features[feature];
    const text = (value: number) => (isNumber || !isShare ? shown(value) : percent(value));
    const bar = element("span", { class: "bar", "aria-hidden": "true" });
    if (!isNumber) {
      bar.append(
        element("i", { "--w": `${(100 * own) / most}%`, "--c": colour }),
        element("b", { "--w": `${Math.min(100, (100 * all) / most)}%` }),
      );
    }
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, isolated(name)),
      element("td", { class: "bars" }, bar),
      element("td", {}, text(own)),
      element("td", { class: "muted" }, text(all)),
    );
  };
  return element(
    "table",
    { class: "frequent" },
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        element("th", { scope: "col" }, isShare ? "most frequent" : "largest"),
        element("th", { scope: "col", "aria-hidden": "true" }),
        element("th", { scope: "col" }, "here"),
        element("th", { scope: "col" }, "all"),
      ),
    ),
    element("tbody", {}, ...group.frequent.map(line)),
  );
}

function head(group: Group, colour: string): HTMLElement[] {
  const size = group.size === null ? "" : `${group.size.toLocaleString("en")} rows`;
  const share = group.share === null ? "" : percent(group.share);
  return [
    element("span", { class: "dot", "--c": colour, "aria-hidden": "true" }),
    element("span", { class: "name" }, isolated(group.name)),
    element("span", { class: "size" }, [size, share].filter((it) => it).join(" · ")),
    element(
      "span",
      { class: "meter", "aria-hidden": "true" },
      element("i", { "--w": `${100 * (group.share ?? 0)}%`, "--c": colour }),
    ),
    element("span", { class: "relevant" }, ...group.relevant.flatMap((name, ix) => [ix > 0 ? ", " : null, isolated(name)])),
  ];
}

/** Everything about a group, to open and close. */
function card(ix: number, level: number, colour: (group: number) => string): HTMLElement {
  const group = payload.groups[ix];
  const isOpen = group.children !== null && level < OPEN_LEVELS;
  const parts = element("div", { class: "parts" });
  const table = frequent(group, colour(ix));
  if (table) {
    parts.append(
      group.children ? element("details", { class: "own" }, element("summary", {}, "Frequent features"), table) : table,
    );
  }
  for (const child of group.children ?? []) parts.append(card(child, level + 1, colour));
  if (parts.childElementCount === 0) return element("div", { class: "group leaf" }, ...head(group, colour(ix)));
  return element("details", { class: "group", open: isOpen }, element("summary", {}, ...head(group, colour(ix))), parts);
}

export function drawGroups(into: HTMLElement, colour: (group: number) => string): void {
  const tops = payload.groups.map((_, ix) => ix).filter((ix) => payload.groups[ix].parent === null);
  into.replaceChildren(...tops.map((ix) => card(ix, 0, colour)));
}
