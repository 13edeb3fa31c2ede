/** Names in the picture: of leaves as soon as there is room, of hidden nodes, and of groups around a crowd. None covers another. */
import type { Forest } from "./forest";
import { grouped, labelParts, title } from "./format";
import type { Layout } from "./layout";
import type { Marks, Pen, Transform } from "./painter";
import { payload } from "./payload";
import { Room } from "./room";
import { fitted, widthOf } from "./textfit";
import type { Colours } from "./theme";

const MOST_LABELS = 420;
/** Leaves that stand nearer than this have no names but those of their groups. */
export const CROWD = 4.5;
const LEAST_FONT = 8.5;
const FONT = "system-ui, sans-serif";
/** How far out of the leaves the band of groups stands, and how thick it is. */
const BAND = { gap: 7, thick: 5 };
const GROUP_FONT = 12;

interface Size {
  width: number;
  height: number;
}

export function paintLabels(
  context: Pen,
  size: Size,
  forest: Forest,
  layout: Layout,
  transform: Transform,
  colours: Colours,
  marks: Marks,
  slot: number,
  colour: (node: number) => string,
): void {
  const room = new Room(size.width, size.height);
  context.textBaseline = "middle";
  context.lineJoin = "round";
  const { marked, hidden, leaves } = candidates(size, forest, layout, transform, marks, slot);
  const draw = new Names(context, size, forest, layout, transform, colours, marks, slot, colour, room);
  for (const node of marked) draw.name(node);
  if (slot < CROWD && forest.hasGroups) {
    band(context, size, forest, layout, transform, colours, room);
    return;
  }
  for (const node of leaves) draw.name(node);
  // In a crowd a name for every corner of the picture is enough.
  const most = hidden.length <= 60 ? hidden.length : Math.max(12, Math.round((size.width * size.height) / 26000));
  for (let ix = 0, drawn = 0; ix < hidden.length && drawn < most; ix++) if (draw.name(hidden[ix])) drawn++;
}

/** Nodes in view that may have a name, the most important first. */
function candidates(
  { width, height }: Size,
  forest: Forest,
  layout: Layout,
  { k, x: dx, y: dy }: Transform,
  marks: Marks,
  slot: number,
): { marked: number[]; hidden: number[]; leaves: number[] } {
  const found = { marked: [] as number[], hidden: [] as number[], leaves: [] as number[] };
  for (const node of layout.visible) {
    const [px, py] = [layout.x[node] * k + dx, layout.y[node] * k + dy];
    if (px < 0 || py < 0 || px > width || py > height) continue;
    if (node === marks.selected || node === marks.hovered || marks.matches.has(node)) found.marked.push(node);
    else if (!payload.observed[node]) found.hidden.push(node);
    else if (slot >= CROWD) found.leaves.push(node);
  }
  const rank = (node: number) => (node === marks.selected ? 2 : node === marks.hovered ? 1 : 0);
  found.marked.sort((a, b) => rank(b) - rank(a) || a - b);
  const size = (node: number) => (forest.isHead[node] ? 1e9 : 0) + forest.leaves[node];
  found.hidden.sort((a, b) => size(b) - size(a) || a - b);
  // Where there is no room for all, those that are told most about have names.
  if (slot < LEAST_FONT + 1) {
    const strength = (node: number) => (forest.parent[node] < 0 ? 0 : (payload.strengths[forest.edge(node, forest.parent[node])] ?? 0));
    found.leaves.sort((a, b) => strength(b) - strength(a) || a - b);
  }
  return found;
}

class Names {
  private drawn = 0;
  private readonly font: number;

  constructor(
    private readonly context: Pen,
    private readonly size: Size,
    private readonly forest: Forest,
    private readonly layout: Layout,
    private readonly transform: Transform,
    private readonly colours: Colours,
    private readonly marks: Marks,
    slot: number,
    private readonly colour: (node: number) => string,
    private readonly room: Room,
  ) {
    this.font = Math.round(Math.min(13, Math.max(LEAST_FONT, slot * 0.9)) * 2) / 2;
  }

  /** Draws a name where there is room, unless there are enough. */
  name(node: number): boolean {
    if (this.drawn >= MOST_LABELS) return false;
    const { context, forest, layout } = this;
    const { width } = this.size;
    const { k, x: dx, y: dy } = this.transform;
    const [px, py] = [layout.x[node] * k + dx, layout.y[node] * k + dy];
    const isObserved = payload.observed[node] === 1;
    const isShut = forest.collapsed[node] === 1;
    const isEnd = isObserved && !forest.hasChildren(node);
    const isStrong = node === this.marks.selected || node === this.marks.hovered;
    const size = isStrong ? Math.max(this.font, 12) : isObserved ? this.font : Math.min(Math.max(this.font, 10), 11.5);
    context.font = `${isObserved ? 400 : 600} ${size}px ${FONT}`;
    let text = isObserved ? title(node, layout.nameLength) : title(node, 20, isStrong || isShut ? 3 : width < 600 ? 1 : 2);
    if (isShut) text += `  +${grouped(forest.leaves[node])}`;
    const length = context.measureText(text).width;
    let [turn, gap, align] = [0, 8, "left" as CanvasTextAlign];
    let [tx, ty] = [px, py];
    if (isEnd || isShut) {
      if (layout.name === "radial") {
        turn = layout.angle[node];
        if (Math.cos(turn) < -1e-6) {
          turn += Math.PI;
          align = "right";
          gap = -gap;
        }
      }
      if (isShut || isStrong) gap *= 1.8;
      tx += gap * Math.cos(turn);
      ty += gap * Math.sin(turn);
    } else {
      // Above the node, on paper of its own.
      align = "center";
      tx = Math.max(length / 2 + 4, Math.min(width - length / 2 - 4, tx));
      ty -= 14;
    }
    const start = align === "left" ? 0 : align === "right" ? -length : -length / 2;
    const free = this.room.take(tx + start * Math.cos(turn), ty + start * Math.sin(turn), length, turn, size * (isEnd ? 0.95 : 1.15));
    if (!free) return false;
    this.drawn++;
    context.save();
    context.translate(tx, ty);
    context.rotate(turn);
    context.textAlign = align;
    context.direction = "ltr";
    if (!isEnd || isStrong) {
      context.strokeStyle = this.colours.background;
      context.lineWidth = 4;
      context.strokeText(text, 0, 0);
    }
    context.fillStyle = isStrong ? this.colours.accent : isObserved ? this.colours.ink : this.colour(node);
    context.fillText(text, 0, 0);
    context.restore();
    return true;
  }
}

/** The parts of a group's label that are shown, one below the other. */
const groupLines = (forest: Forest, branch: number) => labelParts(forest.groupLabel(branch), 24).slice(0, 2);

/** How wide the names of groups are. */
export function groupWidth(forest: Forest): number {
  const font = { size: GROUP_FONT, weight: 600 };
  let width = 0;
  for (let branch = 0; branch < forest.nBroad; branch++)
    for (const line of groupLines(forest, branch)) width = Math.max(width, widthOf(line, font));
  return width;
}

interface Run {
  branch: number;
  nodes: number[];
}

/** Leaves of one group that stand together. */
function runs(forest: Forest, layout: Layout): Run[] {
  const found: Run[] = [];
  for (const node of layout.visible) {
    if (forest.hasChildren(node) && !forest.collapsed[node]) continue;
    const branch = forest.branch[node];
    const last = found.at(-1);
    if (last && last.branch === branch) last.nodes.push(node);
    else found.push({ branch, nodes: [node] });
  }
  return found;
}

/** A band outside of the leaves in the colours of their groups, with the groups' names. */
function band(
  context: Pen,
  { width }: Size,
  forest: Forest,
  layout: Layout,
  transform: Transform,
  colours: Colours,
  room: Room,
): void {
  const { k, x: dx, y: dy } = transform;
  const isRadial = layout.name === "radial";
  const at = (node: number, out: number): [number, number] => {
    const [px, py] = [layout.x[node] * k + dx, layout.y[node] * k + dy];
    const turn = isRadial ? layout.angle[node] : 0;
    return [px + out * Math.cos(turn), py + out * Math.sin(turn)];
  };
  const largest = new Map<number, Run>();
  const paths = new Map<number, Path2D>();
  for (const run of runs(forest, layout)) {
    if (run.branch < 0) continue;
    if (run.nodes.length > (largest.get(run.branch)?.nodes.length ?? 0)) largest.set(run.branch, run);
    let path = paths.get(run.branch);
    if (!path) paths.set(run.branch, (path = (context.newPath ?? (() => new Path2D()))()));
    const middle = BAND.gap + BAND.thick / 2;
    // A run of one leaf is a dot; a long one needs no more points than pixels.
    const every = Math.max(1, Math.floor(run.nodes.length / 60));
    run.nodes.forEach((node, ix) => {
      if (ix === 0) path.moveTo(...at(node, middle));
      if (ix % every === 0 || ix === run.nodes.length - 1) path.lineTo(...at(node, middle));
    });
  }
  context.lineCap = "butt";
  context.lineWidth = BAND.thick;
  for (const [branch, path] of paths) {
    context.strokeStyle = colours.branches[branch % colours.branches.length];
    context.stroke(path);
  }
  context.lineCap = "round";
  const ordered = [...largest.values()].sort((a, b) => b.nodes.length - a.nodes.length);
  for (const run of ordered) {
    const node = run.nodes[run.nodes.length >> 1];
    const [px, py] = at(node, BAND.gap + BAND.thick + 6);
    const turn = isRadial ? layout.angle[node] : 0;
    const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
    // Moved up or down a little where the place is taken; above and below the ellipse sideways, so that no leaf is covered.
    const isBeside = Math.abs(cos) >= 0.25;
    const tries: [CanvasTextAlign, number][] = isBeside
      ? [0, 14, -14, 28, -28, 42, -42].map((shift) => [cos > 0 ? "left" : "right", shift])
      : [
          ["center", 0],
          ["left", 0],
          ["right", 0],
        ];
    context.font = `600 ${GROUP_FONT}px ${FONT}`;
    for (const [align, shift] of tries) {
      const free = align === "left" ? width - px : align === "right" ? px : 2 * Math.min(px, width - px);
      const lines = groupLines(forest, run.branch)
        .map((line) => fitted(line, free - 8, { size: GROUP_FONT, weight: 600 }))
        .filter(Boolean);
      if (lines.length === 0) continue;
      const length = Math.max(...lines.map((line) => context.measureText(line).width));
      const height = lines.length * (GROUP_FONT + 2);
      const start = align === "left" ? 0 : align === "right" ? -length : -length / 2;
      const middle = py + sin * (height / 2) + shift;
      if (!room.take(px + start, middle, length, 0, height + 2)) continue;
      context.textAlign = align;
      context.fillStyle = colours.branches[run.branch % colours.branches.length];
      lines.forEach((line, ix) => context.fillText(line, px, middle + (ix - (lines.length - 1) / 2) * (GROUP_FONT + 2)));
      break;
    }
  }
}
