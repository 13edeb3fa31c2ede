/** How to read the page. */
import { element, find } from "./dom";
import type { Groups } from "./groups";
import { payload } from "./payload";

function answers(groups: Groups): [string, string][] {
  const hasSupport = payload.supports.some((it) => it !== null);
  const isGaussian = payload.family === "gaussian";
  const parts: [string, string][] = [
    [
      "What is this?",
      "A tree of variables. Observed variables (filled dots) are the columns of the data. Hidden variables (rings) were found: each one explains why the variables around it occur together. Variables near each other in the tree go together; far apart, they have little to do with each other.",
    ],
  ];
  if (groups.all.length > 0) {
    parts.push(
      [
        "What is a group?",
        "A hidden variable with the observed ones that it says most about, named by the most telling of them. Broad groups have finer groups inside. “Other” collects variables that no group says much about.",
      ],
      [
        "What do the numbers say?",
        `${isGaussian ? "A description tells how the variables change when the hidden one is one standard deviation higher." : "“28% of rows” is how often the hidden variable is not in its first, usual state. A description such as “depression 56% instead of 9%” says: among those rows 56% have depression, among the others 9%."} Nats measure how much one variable tells about another: 0 is nothing.`,
      ],
    );
  }
  if (hasSupport)
    parts.push([
      "How sure is it?",
      "Support says how surely the data set a group apart from the rest: ● strong (90% or more), ◐ fair, ○ weak (below 50%: another tree would fit nearly as well). Weak splits are dashed in the tree.",
    ]);
  else parts.push(["How sure is it?", "The model was learned without support for its splits, so the page shows none."]);
  if (groups.all.length > 0)
    parts.push(["The map", "A row for each group: the wider its bar, the more rows; the higher, the more variables. Press a group to open it, and the line above to go back."]);
  parts.push(["The tree", `${payload.family === "tree" ? "Thicker edges are shorter." : "Thicker edges carry more information."} Drag to move, turn the wheel or pinch to zoom; names appear as soon as there is room. Press a node for its details, twice to collapse it.`]);
  if (groups.all.length > 0) parts.push(["The table", "All groups, to sort by any column and to copy into a spreadsheet."]);
  parts.push(["Keys", "/ search · ? this panel · 1 2 3 map, tree, table · arrows move · Enter opens · Backspace or ← back · + − 0 zoom the tree · Esc closes"]);
  return parts;
}

export function startHelp(groups: Groups): void {
  const dialog = find<HTMLDialogElement>("help");
  const open = () => {
    if (dialog.childElementCount === 0) {
      const shut = element("button", { type: "button", class: "icon", "aria-label": "Close", click: () => dialog.close() }, "×");
      dialog.append(
        element("header", {}, element("h2", { id: "help-title" }, "How to read this"), shut),
        ...answers(groups).flatMap(([question, answer]) => [element("h3", {}, question), element("p", {}, answer)]),
      );
    }
    if (!dialog.open) dialog.showModal();
  };
  find("help-button").addEventListener("click", open);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.addEventListener("keydown", (event) => {
    const isTyping = (event.target as HTMLElement).matches?.("input, textarea, select");
    if (event.key === "?" && !isTyping) open();
  });
}
