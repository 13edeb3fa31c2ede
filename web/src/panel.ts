/** Details of a node: what its states mean, its rows, its neighbours. */
import { element, isolated } from "./dom";
import type { Forest } from "./forest";
import { belongs, groupSections, type Open } from "./grouppanel";
import { ALL, type Groups } from "./groups";
import { cut, grouped, hasLabels, labelOf, number, oneLine, percent, stateLabel, title } from "./format";
import { misfitTable } from "./overview";
import { payload, readDetails, type Entry, type Row } from "./payload";

export type Go = (node: number) => void;

/** A name that leads to its node. */
export function nodeLink(node: number, go: Go, text = title(node, 60)): HTMLElement {
  return element(
    "button",
    { type: "button", class: payload.observed[node] ? "link" : "link hidden-name", click: () => go(node) },
    isolated(text),
  );
}

/** States that the page shows of a node. */
function states(node: number): number[] {
  return payload.shownStates[node] ?? payload.marginals[node].map((_, state) => state);
}

function bar(value: number, kind = ""): HTMLElement {
  return element("span", {
    class: `meter ${kind}`,
    "aria-hidden": "true",
    "--value": `${Math.max(0, Math.min(1, value)) * 100}%`,
  });
}

function section(heading: string, note: string | null, ...content: (Node | null)[]): HTMLElement {
  const inside = content.filter((it): it is Node => it !== null);
  return element("section", {}, element("h3", {}, heading), note ? element("p", { class: "note" }, note) : null, ...inside);
}

export function nodePanel(
  forest: Forest,
  node: number,
  go: Go,
  actions: { back: () => void; centre: () => void; toggle: () => void; tree: () => void; open: Open },
  groups: Groups,
): Node[] {
  const isObserved = payload.observed[node] === 1;
  const kind = payload.kinds[node];
  const isDiscrete = payload.labels[node] >= 0;
  const n = payload.marginals[node].length;
  const chips = [
    isObserved ? "Observed" : "Hidden",
    kind && (isObserved || !isDiscrete) ? kind : "",
    isDiscrete ? `${grouped(n)}${payload.shownStates[node] ? "+" : ""} states` : "",
  ];
  const isInner = forest.hasChildren(node);
  const head = element(
    "header",
    { class: "node-head" },
    element("button", { type: "button", class: "back", click: actions.back }, "← Overview"),
    element("p", { class: "chips" }, ...chips.filter(Boolean).map((text) => element("span", { class: "chip" }, text))),
    element("h2", { id: "node-title" }, isolated(isObserved ? payload.names[node] : title(node, 80), { class: "long" })),
    !isObserved &&
      element(
        "p",
        { class: "own-name" },
        "named ",
        isolated(oneLine(payload.names[node]), { class: "long" }),
        ` in the model · ${grouped(forest.leaves[node])} observed below`,
      ),
    belongs(groups, node, actions.open),
    element(
      "div",
      { class: "buttons" },
      isInner &&
        element(
          "button",
          { type: "button", id: "toggle-node", class: "tree-only", click: actions.toggle },
          forest.collapsed[node] ? "Expand" : "Collapse",
        ),
      element(
        "button",
        { type: "button", class: "tree-only", click: actions.centre, disabled: forest.parent[node] < 0 },
        "Look from here",
      ),
      element("button", { type: "button", class: "map-only", click: actions.tree }, "Show in the tree"),
    ),
  );
  const { profiles, rows } = readDetails();
  const own = rows[node];
  const parts: (Node | null)[] = [head];
  const group = groups.around(node);
  if (group !== ALL) parts.push(...groupSections(groups, group, go, actions.open));
  if (isDiscrete) parts.push(stateList(node, own?.shares));
  else if (n === 2 && payload.family !== "tree") {
    parts.push(
      section(
        "Distribution",
        null,
        facts([
          ["Mean", number(payload.marginals[node][0], 4)],
          ["Standard deviation", number(payload.marginals[node][1], 4)],
        ]),
      ),
    );
  }
  const profile = profiles[node] ?? [];
  if (profile.length > 0) parts.push(isDiscrete ? profileTable(node, profile, go) : relatedTable(profile, go));
  if (own) parts.push(rowTables(node, profile, own.typical));
  parts.push(neighbours(forest, node, go));
  const pairs = payload.misfits?.worst.filter((it) => it.sides.some((side) => side[0] === node)) ?? [];
  if (pairs.length > 0)
    parts.push(section("Badly explained pairs", "Of the worst pairs of all, those with this variable.", misfitTable(pairs, go)));
  return parts.filter((it): it is Node => it !== null);
}

export function facts(pairs: [string, string | Node][]): HTMLElement {
  return element(
    "dl",
    { class: "facts" },
    ...pairs.map(([term, value]) => element("div", {}, element("dt", {}, term), element("dd", {}, value))),
  );
}

function stateList(node: number, shares: number[] | undefined): HTMLElement {
  const marginal = payload.marginals[node];
  const lines = states(node).map((state, ix) =>
    element(
      "li",
      { class: `state s${ix % 6}` },
      element("span", { class: "key", "aria-hidden": "true" }),
      isolated(stateLabel(node, state), { class: "state-name" }),
      bar(marginal[ix]),
      element("span", { class: "value" }, percent(marginal[ix])),
      shares?.[ix] !== undefined && element("span", { class: "share" }, `${percent(shares[ix])} of rows`),
    ),
  );
  return section(
    "States",
    payload.shownStates[node] ? `The ${lines.length} most probable.` : null,
    element("ul", { class: "states" }, ...lines),
  );
}

function entryName(entry: Entry, go: Go): (Node | string)[] {
  if (entry.m === undefined) return [nodeLink(entry.n, go)];
  return [nodeLink(entry.n, go), " · ", isolated(oneLine(cut(payload.members[entry.m].name, 60)))];
}

/** How the variables that say most differ between the states. */
function profileTable(node: number, profile: Entry[], go: Go): HTMLElement {
  const shown = states(node);
  const isHidden = payload.observed[node] === 0;
  const header = element(
    "tr",
    {},
    element("th", { scope: "col" }, "Variable"),
    ...shown.map((state, ix) =>
      element(
        "th",
        { scope: "col", class: `num s${ix % 6}` },
        element("span", { class: "key", "aria-hidden": "true" }),
        isolated(cut(stateLabel(node, state), 14), { title: stateLabel(node, state) }),
      ),
    ),
    element("th", { scope: "col", class: "num" }, "Nats"),
  );
  const body: HTMLElement[] = [];
  for (const entry of profile) {
    const information = element("td", { class: "num info" }, entry.i === undefined ? "" : number(entry.i));
    if (entry.g) {
      const cells = shown.map((_, ix) =>
        element(
          "td",
          { class: "num" },
          number((entry.g as number[])[2 * ix]),
          element("small", {}, ` ±${number((entry.g as number[])[2 * ix + 1])}`),
        ),
      );
      body.push(element("tr", {}, element("th", { scope: "row" }, ...entryName(entry, go)), ...cells, information));
      continue;
    }
    const labels = entry.l ?? [1];
    const p = entry.p ?? [];
    const cells = (at: number) =>
      shown.map((_, ix) =>
        element(
          "td",
          { class: `num cell s${ix % 6}`, "--value": `${100 * (p[ix * labels.length + at] ?? 0)}%` },
          percent(p[ix * labels.length + at] ?? 0),
        ),
      );
    if (labels.length === 1) {
      const label = labelOf(entry.n, entry.m, labels[0]);
      const name = element(
        "th",
        { scope: "row" },
        ...entryName(entry, go),
        label === "1" ? null : element("small", {}, " = ", isolated(cut(label, 24))),
      );
      body.push(element("tr", {}, name, ...cells(0), information));
      continue;
    }
    body.push(
      element(
        "tr",
        { class: "group" },
        element("th", { scope: "row", colspan: shown.length + 1 }, ...entryName(entry, go)),
        information,
      ),
    );
    labels.forEach((label, at) =>
      body.push(
        element(
          "tr",
          { class: "sub" },
          element("th", { scope: "row" }, isolated(cut(labelOf(entry.n, entry.m, label), 40))),
          ...cells(at),
          element("td", {}),
        ),
      ),
    );
  }
  const note = isHidden
    ? "How probable each variable is in each state; the most informative first."
    : "How probable other variables are in each of its states; the most informative first.";
  return section(
    isHidden ? "What the states mean" : "What goes with it",
    note,
    element(
      "div",
      { class: "scroll" },
      element("table", { class: "profile" }, element("thead", {}, header), element("tbody", {}, ...body)),
    ),
  );
}

function relatedTable(profile: Entry[], go: Go): HTMLElement {
  if (profile.every((entry) => entry.i === undefined && entry.d === undefined)) {
    const lines = profile.map((entry) => element("li", {}, nodeLink(entry.n, go)));
    return section("Nearest variables", null, element("ul", { class: "plain" }, ...lines));
  }
  const lines = profile.map((entry) => {
    const value = entry.r ?? entry.d ?? entry.i ?? 0;
    const size =
      entry.r !== undefined ? Math.abs(value) : entry.d !== undefined ? Math.exp(-value) : Math.sqrt(-Math.expm1(-2 * value));
    const meter = element("td", { class: "wide" }, bar(size, value < 0 ? "negative" : ""));
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, ...entryName(entry, go)),
      meter,
      element("td", { class: "num" }, number(value)),
    );
  });
  const notes = {
    gaussian: "Correlations under the model.",
    discrete: "By the mutual information under the model, in nats.",
    tree: "Distances along the tree.",
  };
  return section(
    "Nearest variables",
    notes[payload.family],
    element("table", { class: "related" }, element("tbody", {}, ...lines)),
  );
}

function rowTables(node: number, profile: Entry[], typical: Row[][]): HTMLElement {
  const isGaussian = payload.family === "gaussian";
  const shown = states(node);
  const columns = profile.slice(0, typical.flat()[0]?.[2].length ?? 0);
  const cell = (entry: Entry, value: number | null) => {
    if (value === null) return element("td", { class: "missing", title: "missing" }, "–");
    const text = hasLabels(entry.n, entry.m) ? labelOf(entry.n, entry.m, value) : number(value);
    return element("td", { class: value === 0 ? "zero" : "" }, isolated(cut(text, 18)));
  };
  const name = (entry: Entry) =>
    oneLine(cut(entry.m === undefined ? payload.names[entry.n] : payload.members[entry.m].name, 200));
  const tables = typical.map((rows, ix) => {
    const label = isGaussian ? (ix === 0 ? "Highest" : "Lowest") : stateLabel(node, shown[ix]);
    const head = element(
      "tr",
      {},
      element("th", { scope: "col", class: "num" }, "Row"),
      element("th", { scope: "col", class: "num" }, isGaussian ? "Mean" : "Prob."),
      ...columns.map((entry) => element("th", { scope: "col", title: name(entry) }, isolated(cut(name(entry), 14)))),
    );
    const body = rows.map(([row, value, cells]) =>
      element(
        "tr",
        {},
        element("td", { class: "num" }, grouped(row)),
        element("td", { class: "num" }, isGaussian ? number(value) : percent(value)),
        ...cells.map((value, at) => cell(columns[at], value)),
      ),
    );
    const content =
      rows.length === 0
        ? element("p", { class: "note" }, "No row is most probably in this state.")
        : element(
            "div",
            { class: "scroll" },
            element("table", { class: "rows" }, element("thead", {}, head), element("tbody", {}, ...body)),
          );
    return element(
      "details",
      { class: `s${ix % 6}`, open: ix === typical.length - 1 && typical.length <= 4 },
      element(
        "summary",
        {},
        element("span", { class: "key", "aria-hidden": "true" }),
        isGaussian ? label : element("span", {}, "State ", isolated(label)),
      ),
      content,
    );
  });
  const note = isGaussian
    ? "Rows whose posterior mean is most extreme."
    : "Rows that most surely are in each state, with their values.";
  return section(payload.dataName ? "Rows" : "Rows", note, ...tables);
}

function neighbours(forest: Forest, node: number, go: Go): HTMLElement | null {
  const around = [...forest.neighboursOf(node)];
  if (around.length === 0) return section("Neighbours", "It stands alone: no other variable says anything about it.");
  const edges = around.map((other) => ({ other, edge: forest.edge(node, other) }));
  const strength = (edge: number) => payload.strengths[edge] ?? 0;
  edges.sort((a, b) => strength(b.edge) - strength(a.edge) || a.other - b.other);
  const most = 100;
  const shown = edges.slice(0, most);
  const has = (list: (number | null)[]) => shown.some(({ edge }) => list[edge] !== null);
  const columns: [string, (number | null)[], (value: number) => string][] = [];
  if (has(payload.information)) columns.push(["Nats", payload.information, (value) => number(value)]);
  if (has(payload.lengths)) columns.push(["Distance", payload.lengths, (value) => number(value)]);
  if (has(payload.supports)) columns.push(["Support", payload.supports, percent]);
  const head = element(
    "tr",
    {},
    element("th", { scope: "col" }, "Neighbour"),
    element("th", { scope: "col" }, "Strength"),
    ...columns.map(([name]) => element("th", { scope: "col", class: "num" }, name)),
  );
  const body = shown.map(({ other, edge }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, nodeLink(other, go, title(other, 30, 2))),
      element("td", { class: "wide" }, bar(strength(edge))),
      ...columns.map(([, list, show]) => element("td", { class: "num" }, list[edge] === null ? "" : show(list[edge] as number))),
    ),
  );
  const note = columns.some(([name]) => name === "Support")
    ? "Support is how surely the data set the two sides apart."
    : null;
  const more = edges.length > most ? element("p", { class: "note" }, `… and ${grouped(edges.length - most)} more`) : null;
  return section(
    "Neighbours",
    note,
    element(
      "div",
      { class: "scroll" },
      element("table", { class: "neighbours" }, element("thead", {}, head), element("tbody", {}, ...body)),
    ),
    more,
  );
}
