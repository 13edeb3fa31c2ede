/** What the panel tells of groups: in words, with their variables and finer groups. */
import { element, isolated } from "./dom";
import { cut, grouped, groupTitle, number, oneLine } from "./format";
import { ALL, type Groups } from "./groups";
import { groupFacts } from "./map";
import { payload } from "./payload";

const SHOWN = 12;
const LISTED = 300;

export type Open = (group: number) => void;

export function groupLink(groups: Groups, group: number, open: Open): HTMLElement {
  const name = isolated(groupTitle(groups.all[group].label, 40, 3));
  return element("button", { type: "button", class: "link hidden-name", click: () => open(group) }, name);
}

/** The groups that a node belongs to, the broad one first. */
export function belongs(groups: Groups, node: number, open: Open): HTMLElement | null {
  const own = groups.around(node);
  const path = groups.path(groups.finest[node]).filter((group) => group !== own);
  if (path.length === 0) return null;
  const links = path.flatMap((group) => [element("span", { "aria-hidden": "true" }, " › "), groupLink(groups, group, open)]).slice(1);
  return element("p", { class: "belongs" }, element("span", { class: "note" }, "In the group "), ...links);
}

/** A group in words. */
export function groupSections(groups: Groups, group: number, go: (node: number) => void, open: Open): HTMLElement[] {
  const { states, description, variables, information, node } = groups.all[group];
  // The first of two states is but the opposite of the second.
  const words = states.length > 2 ? states : [description];
  const parts = [
    element(
      "section",
      { class: "in-words" },
      element("h3", {}, "In words"),
      element("p", { class: "note" }, groupFacts(group, groups).join(" · ")),
      node === null
        ? element("p", {}, "Variables that no other group says much about.")
        : element("ul", { class: "plain" }, ...words.filter(Boolean).map((text) => element("li", {}, isolated(oneLine(text))))),
    ),
  ];
  const finer = groups.children(group);
  if (finer.length > 0) {
    const lines = finer.map((it) =>
      element("li", {}, groupLink(groups, it, open), element("small", {}, ` ${groupFacts(it, groups).join(" · ")}`)),
    );
    parts.push(element("section", {}, element("h3", {}, "Finer groups inside"), element("ul", { class: "plain" }, ...lines)));
  }
  const best = Math.max(1e-12, information[0] ?? 0);
  const line = (node: number, at: number) =>
    element(
      "tr",
      {},
      element(
        "th",
        { scope: "row" },
        element("button", { type: "button", class: "link", click: () => go(node) }, isolated(oneLine(cut(payload.names[node], 60)))),
      ),
      element("td", { class: "wide" }, element("span", { class: "meter", "aria-hidden": "true", "--value": `${(100 * information[at]) / best}%` })),
      element("td", { class: "num" }, number(information[at], 2)),
    );
  const table = (from: number, to: number) =>
    element("table", {}, element("tbody", {}, ...variables.slice(from, to).map((node, ix) => line(node, from + ix))));
  const more = element("details", {}, element("summary", {}, `${grouped(variables.length - SHOWN)} more`));
  // A group may have thousands.
  more.addEventListener("toggle", () => more.open && more.childElementCount === 1 && more.append(table(SHOWN, LISTED)), { once: true });
  parts.push(
    element(
      "section",
      { class: "group-variables" },
      element("h3", {}, `Its variables: ${grouped(variables.length)}`),
      element("p", { class: "note" }, "By what the group says about them, in nats."),
      table(0, SHOWN),
      variables.length > SHOWN && more,
    ),
  );
  return parts;
}

/** A group that has no node of its own. */
export function otherPanel(groups: Groups, group: number, go: (node: number) => void, open: Open): Node[] {
  const head = element(
    "header",
    { class: "node-head" },
    element("button", { type: "button", class: "back", click: () => open(ALL) }, "← Overview"),
    element("h2", { id: "node-title" }, isolated(groupTitle(groups.all[group].label))),
  );
  return [head, ...groupSections(groups, group, go, open)];
}

/** The broad groups, for the overview and for print. */
export function broadTable(groups: Groups, open: Open, inWords = false): HTMLElement {
  const rows = groups.broad.map((group) => {
    const { description } = groups.all[group];
    return element(
      "tr",
      {},
      element(
        "th",
        { scope: "row" },
        groupLink(groups, group, open),
        element("br"),
        element("small", {}, groupFacts(group, groups).join(" · ")),
      ),
      inWords && element("td", {}, isolated(oneLine(cut(description, 170)))),
    );
  });
  return element("table", { class: "broad" }, element("tbody", {}, ...rows));
}
