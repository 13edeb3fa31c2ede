/** The page of a mixture, of topics or of a hierarchy. */
import { element, find, isolated } from "../dom";
import { colours, onTheme, startTheme } from "../theme";
import { drawGroups, noun } from "./groups";
import { payload } from "./payload";
import { drawRows, drawShares } from "./pictures";
import { drawTopics, hasTopics } from "./topics";

const leaves = payload.groups.map((_, ix) => ix).filter((ix) => payload.groups[ix].children === null);
const count = (n: number, what: string): string => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;

/** Leaves have colours of their own; a node above them has that of its first leaf. */
function colour(group: number): string {
  let ix = group;
  for (let children = payload.groups[ix].children; children; children = payload.groups[ix].children) ix = children[0];
  const { branches } = colours();
  return branches[leaves.indexOf(ix) % branches.length];
}

function describe(): void {
  find("title").replaceChildren(isolated(payload.title));
  const parts = [count(leaves.length, noun)];
  if (payload.rows !== null) parts.push(count(payload.rows, "row"));
  find("subtitle").replaceChildren(parts.join(" · "), ...(payload.data ? [" · ", isolated(payload.data)] : []));
  const titles = { mixture: "Components", topics: "Topics", clusters: "Hierarchy" };
  find("groups-title").textContent = titles[payload.kind];
  find("groups-note").textContent =
    payload.kind === "clusters"
      ? "Every cluster with the features that are more frequent in it than in all rows. Open a cluster for its parts."
      : `Every ${noun} with its share and the features that tell it from the others. Open one for what is frequent in it.`;
  const { sample } = payload;
  find("rows-section").hidden = !sample || sample.rows.length === 0 || sample.features.length === 0;
  find("shares-section").hidden = !sample || sample.shares.length === 0;
  if (sample) {
    const shown = sample.rows.length < (payload.rows ?? 0) ? `${sample.rows.length} of ${count(payload.rows ?? 0, "row")}` : "All rows";
    find("rows-note").textContent = `${shown}, sorted by ${noun}. A cell is filled if the row has the feature; numbers are darker the larger they are.`;
    find("shares-note").textContent = `${shown}. Each line is a document, each colour a topic.`;
  }
  find("tools").hidden = payload.kind !== "clusters" || leaves.length < 2;
  find("made").replaceChildren(
    ...payload.options.flatMap(([key, value]) => [element("dt", {}, isolated(key)), element("dd", {}, isolated(value))]),
  );
}

const details = () => Array.from(document.querySelectorAll<HTMLDetailsElement>("#groups details"));

function draw(): void {
  // What is open stays open.
  const before = details().map((it) => it.open);
  drawGroups(find("groups"), colour);
  details().forEach((it, ix) => {
    it.open = before[ix] ?? it.open;
  });
  drawRows(colour);
  drawShares(colour);
}

const openAll = (isOpen: boolean) => () =>
  document.querySelectorAll<HTMLDetailsElement>("#groups details.group").forEach((it) => {
    it.open = isOpen;
  });

startTheme();
describe();
find("topics-section").hidden = !hasTopics;
if (hasTopics) drawTopics(find("topics"), find("topics-note"));
draw();
onTheme(draw);
find("open-all").addEventListener("click", openAll(true));
find("close-all").addEventListener("click", openAll(false));
document.documentElement.dataset.ready = "";
