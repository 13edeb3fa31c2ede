/** The topics of a model of words as a table. */
import { element, isolated } from "../dom";
import { noun, percent } from "./groups";
import { payload, type Group } from "./payload";

const number = (value: number | null | undefined): string => value?.toFixed(2) ?? "";
const mean = (values: (number | null)[]): string => {
  const known = values.filter((it) => it !== null);
  return known.length > 0 ? number(known.reduce((sum, it) => sum + it, 0) / known.length) : "–";
};

/** Whether the model is of words. */
export const hasTopics = payload.groups.some((group) => group.topic);

export function drawTopics(into: HTMLElement, note: HTMLElement): void {
  const topics = payload.groups.filter((group) => group.topic);
  const isMeasured = topics.some((group) => group.topic?.npmi !== null);
  const isNested = topics.some((group) => group.parent !== null);
  const all = topics.flatMap((group) => group.topic?.words ?? []);
  const diversity = `diversity ${number(new Set(all).size / Math.max(1, all.length))}`;
  note.textContent = isMeasured
    ? `Mean NPMI ${mean(topics.map((it) => it.topic?.npmi ?? null))}, C_V ${mean(topics.map((it) => it.topic?.cV ?? null))}, ${diversity}.`
    : `Coherence needs data: give report the documents. Words: ${diversity}.`;
  const heads = [noun[0].toUpperCase() + noun.slice(1), ...(isNested ? ["Inside"] : []), "Share", ...(isMeasured ? ["NPMI", "C_V"] : []), "Words"];
  const line = (group: Group) => {
    const cells: (string | Node)[] = [
      ...(isNested ? [group.parent === null ? "" : isolated(payload.groups[group.parent].name)] : []),
      group.share === null ? "" : percent(group.share),
      ...(isMeasured ? [number(group.topic?.npmi), number(group.topic?.cV)] : []),
      isolated((group.topic?.words ?? []).join(", ")),
    ];
    return element("tr", {}, element("th", { scope: "row" }, isolated(group.name)), ...cells.map((cell) => element("td", {}, cell)));
  };
  into.replaceChildren(
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, ...topics.map(line)),
  );
}
