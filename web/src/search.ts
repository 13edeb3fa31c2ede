/** Search: names of observed and hidden variables, and what hidden ones are about. */
import { announce, element, find, isolated } from "./dom";
import { cut, grouped, groupTitle, oneLine, title } from "./format";
import { ALL, type Groups } from "./groups";
import { payload } from "./payload";

const LISTED = 40;
const MARKED = 2000;

const plain = (text: string) =>
  text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .toLowerCase();

/** The finest group that a variable is in. */
function inGroup(groups: Groups, node: number): HTMLElement | null {
  const group = groups.finest[node];
  if (group === ALL || groups.around(node) === group) return null;
  return element("span", { class: "in-group" }, "in ", isolated(groupTitle(groups.all[group].label, 24, 2)));
}

export function startSearch(groups: Groups, choose: (node: number) => void, mark: (nodes: Set<number>) => void): void {
  const input = find<HTMLInputElement>("search");
  const list = find("results");
  // Only the beginning of a very long name can be searched.
  let keys: string[] | null = null;
  let labels: string[] | null = null;
  let results: number[] = [];
  let active = -1;
  const keyOf = (node: number) => plain(payload.names[node].slice(0, 500));

  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    active = -1;
  };
  const activate = (ix: number) => {
    active = ix;
    [...list.children].forEach((line, at) => line.setAttribute("aria-selected", String(at === ix)));
    const line = list.children[ix];
    if (line) {
      input.setAttribute("aria-activedescendant", line.id);
      line.scrollIntoView({ block: "nearest" });
    }
  };
  const take = (node: number) => {
    close();
    choose(node);
  };
  const search = () => {
    const query = plain(input.value.trim());
    if (!query) {
      results = [];
      mark(new Set());
      close();
      return;
    }
    keys ??= payload.names.map((_, node) => keyOf(node));
    labels ??= payload.nodeLabels.map((label) => plain(label ?? ""));
    const known = keys;
    const found: { node: number; rank: number }[] = [];
    for (let node = 0; node < known.length; node++) {
      const at = known[node].indexOf(query);
      // Beginnings first, then inside a name, then hidden nodes that are about it.
      if (at >= 0) found.push({ node, rank: at === 0 ? (known[node].length === query.length ? 0 : 1) : 2 });
      else if (payload.topics[node].some((leaf) => known[leaf].includes(query)) || labels[node].includes(query))
        found.push({ node, rank: 3 });
    }
    found.sort((a, b) => a.rank - b.rank || a.node - b.node);
    results = found.map((it) => it.node);
    mark(
      new Set(
        found
          .filter((it) => it.rank < 3)
          .slice(0, MARKED)
          .map((it) => it.node),
      ),
    );
    const lines = results.slice(0, LISTED).map((node, ix) =>
      element(
        "li",
        {
          id: `result-${ix}`,
          role: "option",
          "aria-selected": "false",
          "data-node": node,
          class: payload.observed[node] ? "" : "is-hidden",
        },
        element("span", { class: `dot ${payload.observed[node] ? "observed" : "hidden-node"}`, "aria-hidden": "true" }),
        isolated(title(node, 60), { class: "name" }),
        inGroup(groups, node),
        !payload.observed[node] && element("span", { class: "code" }, oneLine(cut(payload.names[node], 12))),
      ),
    );
    const text =
      results.length === 0
        ? "Nothing is called that"
        : results.length > LISTED
          ? `${grouped(results.length - LISTED)} more: type further`
          : "";
    list.replaceChildren(...lines, ...(text ? [element("li", { class: "foot", role: "presentation" }, text)] : []));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    announce(results.length === 0 ? "No results" : `${grouped(results.length)} ${results.length === 1 ? "result" : "results"}`);
    activate(results.length > 0 ? 0 : -1);
  };
  input.addEventListener("input", search);
  input.addEventListener("focus", () => input.value && search());
  input.addEventListener("keydown", (event) => {
    const shown = Math.min(LISTED, results.length);
    if (event.key === "ArrowDown" && shown > 0) activate((active + 1) % shown);
    else if (event.key === "ArrowUp" && shown > 0) activate((active + shown - 1) % shown);
    else if (event.key === "Enter" && active >= 0 && !list.hidden) take(results[active]);
    else if (event.key === "Escape") {
      if (list.hidden) input.value = "";
      close();
      if (!input.value) mark(new Set());
      return;
    } else return;
    event.preventDefault();
  });
  list.addEventListener("pointerdown", (event) => {
    const line = (event.target as HTMLElement).closest<HTMLElement>("[data-node]");
    event.preventDefault();
    if (line) take(Number(line.dataset.node));
  });
  input.addEventListener("blur", close);
  document.addEventListener("keydown", (event) => {
    const isTyping = (event.target as HTMLElement).matches?.("input, textarea, select");
    if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      input.focus();
      input.select();
    }
  });
}
