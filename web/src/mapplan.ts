/** Where everything on the map stands. */
import { labelParts, oneLine } from "./format";
import { ALL, type Groups } from "./groups";
import { payload } from "./payload";
import { fitted, flow, widthOf } from "./textfit";

export interface GroupRow {
  group: number;
  x: number;
  y: number;
  width: number;
  height: number;
  name: string[];
  /** Finer groups inside; `group` is −1 for those that have no room. */
  finer: { group: number; text: string; x: number; y: number; width: number; height: number }[];
  words: { x: number; y: number; lines: string[] };
}

export interface Cell {
  node: number;
  information: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Plan {
  width: number;
  height: number;
  heads: { x: number; y: number; text: string }[];
  rows: GroupRow[];
  cells: Cell[];
  /** Columns of cells. */
  columns: number;
  more: { x: number; y: number; text: string } | null;
}

const NAME = { size: 14, weight: 600 };
const SMALL = { size: 12, weight: 400 };
const GAP = 3;
const COLUMN_GAP = 10;
const NARROW = 620;
const LEAST_ROW = 43;
const MOST_ROW = 112;
const FINER = 19;
const LINE = 16;
const CELL = 28;
const CELL_WIDTH = 210;
const MOST_CELLS = 600;
const FEW = 16;

/** `height` is what there is to fill; the map may need more. */
export function plan(groups: Groups, focus: number, width: number, height: number): Plan {
  const inside = groups.children(focus);
  const own = groups.own(focus);
  const isNarrow = width < NARROW;
  const shown: Plan = { width, height: 0, heads: [], rows: [], cells: [], columns: 1, more: null };
  let y = 0;
  if (inside.length > 0) {
    const hasFiner = !isNarrow && inside.some((group) => groups.children(group).length > 0);
    const first = isNarrow ? width : Math.round(width * 0.42);
    const second = hasFiner ? Math.round(width * 0.26) : 0;
    if (!isNarrow) {
      y = 20;
      const what = hasFiner ? "Inside: finer groups, and further variables" : "Further variables, the most telling first";
      shown.heads.push({ x: 0, y: 8, text: focus === ALL ? "Group" : "Finer group" });
      shown.heads.push({ x: first + COLUMN_GAP, y: 8, text: what });
    }
    const free = own.length > 0 ? 0 : height - y;
    const labels = inside.map((group) => groups.all[group].label);
    let names = labels.map((label) => nameLines(label, first - 44));
    // Where not all would be seen at once, a line for each name is enough.
    const needed = names.reduce((sum, name) => sum + LEAST_ROW + 18 * (name.length - 1) + GAP, 0);
    if (!isNarrow && needed > free) names = labels.map((label) => [nameLine(label, first - 44)]);
    const narrow = inside.map((group) => (isNarrow ? furtherWords(groups, group, width - 60, 2) : []));
    const least = names.map(
      (name, ix) => LEAST_ROW + 18 * (name.length - 1) + (isNarrow && narrow[ix].length > 0 ? 14 + LINE * narrow[ix].length : 0),
    );
    const heights = stretched(groups, inside, least, free);
    inside.forEach((group, ix) => {
      const row = { group, x: 0, y, width: first, height: heights[ix], name: names[ix] };
      const finer = hasFiner ? finerCells(groups, group, first + COLUMN_GAP, y, second, row.height) : [];
      const x = first + COLUMN_GAP + (finer.length > 0 ? second + COLUMN_GAP : 0);
      const lines = Math.max(1, Math.floor((row.height - 6) / LINE));
      const words = isNarrow
        ? { x: 16, y: y + row.height - LINE * narrow[ix].length + 2, lines: narrow[ix] }
        : { x, y: 0, lines: furtherWords(groups, group, width - x, lines) };
      if (!isNarrow) words.y = y + row.height / 2 - ((words.lines.length - 1) * LINE) / 2;
      shown.rows.push({ ...row, finer, words });
      y += row.height + GAP;
    });
  }
  if (own.length > 0) {
    if (inside.length > 0) {
      shown.heads.push({ x: 0, y: y + 14, text: "Variables of this group that no finer one has, the most telling first" });
      y += 26;
    }
    // A few need no columns.
    const most = own.length <= FEW ? 1 : own.length <= 3 * FEW ? 2 : 100;
    shown.columns = Math.max(1, Math.min(most, Math.floor((width + GAP) / CELL_WIDTH)));
    const each = (width - GAP * (shown.columns - 1)) / shown.columns;
    own.slice(0, MOST_CELLS).forEach((it, ix) => {
      const [row, column] = [Math.floor(ix / shown.columns), ix % shown.columns];
      shown.cells.push({ ...it, x: column * (each + GAP), y: y + row * (CELL + GAP), width: each, height: CELL });
    });
    y += Math.ceil(Math.min(MOST_CELLS, own.length) / shown.columns) * (CELL + GAP);
    if (own.length > MOST_CELLS) {
      shown.more = { x: 0, y: y + 10, text: `… and ${(own.length - MOST_CELLS).toLocaleString("en-GB")} more: search finds them` };
      y += 24;
    }
  }
  shown.height = Math.max(1, Math.ceil(y));
  return shown;
}

/** A label on one line, or on two where it is long. */
function nameLines(label: string, width: number): string[] {
  const parts = labelParts(label);
  const whole = parts.join(" · ");
  if (widthOf(whole, NAME) <= width || parts.length === 1) return [fitted(whole, width, NAME)];
  return [fitted(`${parts[0]} ·`, width, NAME), fitted(parts.slice(1).join(" · "), width, NAME)];
}

/** A label on one line, of which all parts have some. */
function nameLine(label: string, width: number): string {
  const parts = labelParts(label);
  const whole = parts.join(" · ");
  if (widthOf(whole, NAME) <= width) return whole;
  const each = (width - 16 * (parts.length - 1)) / parts.length;
  const short = parts.map((part) => widthOf(part, NAME)).filter((it) => it < each);
  // What short parts do not need is for the long ones.
  const left = (width - 16 * (parts.length - 1) - short.reduce((sum, it) => sum + it, 0)) / Math.max(1, parts.length - short.length);
  return fitted(parts.map((part) => fitted(part, left, NAME)).join(" · "), width, NAME);
}

/** Heights that fill what there is, larger groups higher. */
function stretched(groups: Groups, inside: number[], least: number[], height: number): number[] {
  const free = height - least.reduce((sum, it) => sum + it + GAP, 0);
  if (free <= 0) return least;
  const sizes = inside.map((group) => Math.sqrt(groups.all[group].variables.length));
  const usual = [...sizes].sort((a, b) => a - b)[sizes.length >> 1];
  // What belongs nowhere may be most of all, and says least.
  const weights = inside.map((group, ix) => (groups.all[group].node === null ? Math.min(sizes[ix], usual) : sizes[ix]));
  const total = weights.reduce((sum, it) => sum + it, 0) || 1;
  return least.map((it, ix) => Math.min(Math.max(MOST_ROW, it), it + (free * weights[ix]) / total));
}

/** Variables that the label does not name already. */
function furtherWords(groups: Groups, group: number, width: number, lines: number): string[] {
  const { label, variables } = groups.all[group];
  const named = labelParts(label);
  const isNamed = (name: string) =>
    named.some((part) => part === name || (part.endsWith("…") && name.startsWith(part.slice(0, -1).trimEnd())));
  const rest = variables.filter((node) => !isNamed(oneLine(payload.names[node])));
  const words = rest.slice(0, 80).map((node) => oneLine(payload.names[node]).slice(0, 200));
  return flow(words, rest.length, width, lines, SMALL);
}

function finerCells(groups: Groups, group: number, x: number, y: number, width: number, height: number): GroupRow["finer"] {
  const inside = groups.children(group);
  if (inside.length === 0) return [];
  const most = Math.max(1, Math.floor((height + 2) / (FINER + 2)));
  const shown = inside.length <= most ? inside : inside.slice(0, most - 1);
  const left = inside.length - shown.length;
  const count = shown.length + (left > 0 ? 1 : 0);
  const each = (height - 2 * (count - 1)) / count;
  const place = (ix: number) => ({ x, y: y + ix * (each + 2), width, height: each });
  const cells = shown.map((it, ix) => ({ group: it, text: "", ...place(ix) }));
  const noun = shown.length === 0 ? (left === 1 ? "finer group" : "finer groups") : "more";
  if (left > 0) cells.push({ group: -1, text: `${left} ${noun}`, ...place(count - 1) });
  return cells;
}
