/** The whole: how well the model fits, its hidden variables, and the pairs that it explains badly. */
import { element, isolated } from "./dom";
import type { Forest } from "./forest";
import { broadTable, type Open } from "./grouppanel";
import type { Groups } from "./groups";
import { cut, grouped, labelOf, number, oneLine, percent } from "./format";
import { facts, nodeLink, type Go } from "./panel";
import { payload, type Misfit, type Side } from "./payload";

const LISTED = 60;
const PAIRS = 15;

/** How large the model is and how well it fits. */
export function figures(forest: Forest): [string, string | Node][] {
  const { fit } = payload;
  const n_observed = payload.observed.reduce<number>((sum, it) => sum + it, 0);
  const pairs: [string, string | Node][] = [
    ["Observed variables", grouped(n_observed)],
    ["Hidden variables", grouped(forest.n - n_observed)],
  ];
  if (forest.roots.length > 1) pairs.push(["Separate trees", grouped(forest.roots.length)]);
  if (fit.rows !== null) pairs.push(["Rows", grouped(fit.rows)]);
  if (fit.logLikelihood !== null) pairs.push(["Log-likelihood", grouped(fit.logLikelihood, 2)]);
  if (fit.meanLogLikelihood !== null) pairs.push(["… per row", number(fit.meanLogLikelihood, 5)]);
  if (fit.parameters !== null) pairs.push(["Free parameters", grouped(fit.parameters)]);
  if (fit.bic !== null) pairs.push(["BIC, larger is better", grouped(fit.bic, 2)]);
  if (fit.impossibleRows) pairs.push(["Rows of probability zero", grouped(fit.impossibleRows)]);
  return pairs;
}

export function overview(forest: Forest, go: Go, groups: Groups, open: Open): Node[] {
  const parts: Node[] = [element("section", {}, element("h2", {}, "Overview"), facts(figures(forest)))];
  if (groups.all.some((group) => group.level > 1))
    parts.push(element("section", {}, element("h3", {}, "Broad groups"), broadTable(groups, open)));
  else parts.push(hiddenTable(forest, go, LISTED));
  const { misfits } = payload;
  if (misfits) {
    const among =
      misfits.columns < misfits.allColumns
        ? ` among the ${grouped(misfits.columns)} columns of ${grouped(misfits.allColumns)} that vary most`
        : "";
    const verdict =
      misfits.beyondFour === 0
        ? "none is more than 4 standard errors off"
        : `${grouped(misfits.beyondFour)} ${misfits.beyondFour === 1 ? "is" : "are"} more than 4 standard errors off`;
    const content = misfits.worst.length === 0 ? [] : [misfitTable(misfits.worst.slice(0, PAIRS), go)];
    if (misfits.worst.length > PAIRS)
      content.push(
        element(
          "details",
          {},
          element("summary", {}, `${misfits.worst.length - PAIRS} more`),
          misfitTable(misfits.worst.slice(PAIRS), go),
        ),
      );
    parts.push(
      element(
        "section",
        {},
        element("h3", {}, "Badly explained pairs"),
        element(
          "p",
          { class: "note" },
          `Of ${grouped(misfits.pairs)} pairs${among}, ${verdict}. The worst first: how often the two occur together (or their correlation), against the model.`,
        ),
        ...content,
      ),
    );
  }
  parts.push(...provenance());
  return parts;
}

export function hiddenTable(forest: Forest, go: Go, most: number): HTMLElement {
  const hidden: number[] = [];
  for (const node of forest.order) if (!payload.observed[node]) hidden.push(node);
  if (hidden.length === 0)
    return element(
      "section",
      {},
      element("h3", {}, "Hidden variables"),
      element("p", { class: "note" }, "There are none: all variables of this tree are observed."),
    );
  // The widest first, but in the order of the outline among equals.
  const listed = hidden
    .map((node, at) => ({ node, at }))
    .sort((a, b) => forest.leaves[b.node] - forest.leaves[a.node] || a.at - b.at);
  const isDiscrete = payload.family === "discrete";
  const body = listed
    .slice(0, most)
    .map(({ node }) =>
      element(
        "tr",
        {},
        element(
          "th",
          { scope: "row" },
          nodeLink(node, go),
          element("small", { class: "code" }, " ", oneLine(cut(payload.names[node], 12))),
        ),
        isDiscrete && element("td", { class: "wide" }, stack(node)),
        element("td", { class: "num" }, grouped(forest.leaves[node])),
      ),
    );
  const head = element(
    "tr",
    {},
    element("th", { scope: "col" }, "Named by what says most about it"),
    isDiscrete && element("th", { scope: "col" }, "States"),
    element("th", { scope: "col", class: "num" }, "Below"),
  );
  const more =
    listed.length > most ? element("p", { class: "note" }, `… and ${grouped(listed.length - most)} more in the outline`) : null;
  return element(
    "section",
    {},
    element("h3", {}, "Hidden variables"),
    element("table", { class: "hidden-table" }, element("thead", {}, head), element("tbody", {}, ...body)),
    more,
  );
}

/** The probabilities of a node's states as one bar. */
function stack(node: number): HTMLElement {
  const marginal = payload.marginals[node];
  const parts = marginal.map((value, ix) => element("span", { class: `part s${ix % 6}`, "--value": `${100 * value}%` }));
  return element("span", { class: "stack", role: "img", "aria-label": marginal.map(percent).join(", ") }, ...parts);
}

function sideText([node, member, label]: Side): Node[] {
  const parts: Node[] = [];
  if (member !== null) parts.push(element("small", {}, " · ", isolated(oneLine(cut(payload.members[member].name, 40)))));
  if (label !== null) {
    const text = labelOf(node, member, label);
    if (text !== "1") parts.push(element("small", {}, " = ", isolated(cut(text, 20))));
  }
  return parts;
}

export function misfitTable(misfits: Misfit[], go: Go): HTMLElement {
  const show = (misfit: Misfit, value: number) => (misfit.isCorrelation ? number(value) : percent(value));
  const body = misfits.map((misfit) => {
    const [a, b] = misfit.sides;
    return element(
      "tr",
      {},
      element(
        "th",
        { scope: "row" },
        nodeLink(a[0], go, oneLine(cut(payload.names[a[0]], 40))),
        ...sideText(a),
        element("br"),
        nodeLink(b[0], go, oneLine(cut(payload.names[b[0]], 40))),
        ...sideText(b),
      ),
      element("td", { class: "num" }, show(misfit, misfit.observed)),
      element("td", { class: "num" }, show(misfit, misfit.expected)),
      element("td", { class: misfit.z > 0 ? "num more" : "num less" }, (misfit.z > 0 ? "+" : "") + number(misfit.z, 2)),
    );
  });
  const head = element(
    "tr",
    {},
    element("th", { scope: "col" }, "Pair"),
    element("th", { scope: "col", class: "num" }, "Data"),
    element("th", { scope: "col", class: "num" }, "Model"),
    element("th", { scope: "col", class: "num", title: "standard errors" }, "z"),
  );
  return element(
    "div",
    { class: "scroll" },
    element("table", { class: "misfits" }, element("thead", {}, head), element("tbody", {}, ...body)),
  );
}

function provenance(): Node[] {
  const { fit } = payload;
  const pairs: [string, string | Node][] = [];
  if (fit.program) pairs.push(["Made by", isolated(fit.program)]);
  if (fit.learnedRows !== null) pairs.push(["Rows learned from", grouped(fit.learnedRows)]);
  for (const [name, value] of fit.options) pairs.push([name, isolated(value)]);
  if (fit.seed !== null) pairs.push(["Seed", String(fit.seed)]);
  if (fit.digest) pairs.push(["Data", element("code", {}, cut(fit.digest, 24))]);
  for (const [name, seconds] of fit.stages) pairs.push([name, `${number(seconds)} s`]);
  return pairs.length === 0 ? [] : [element("section", {}, element("h3", {}, "How it was made"), facts(pairs))];
}
