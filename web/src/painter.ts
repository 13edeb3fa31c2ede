/** Draws a layout: edges, nodes, and the labels that there is room for. */
import type { Forest } from "./forest";
import { paintLabels } from "./labels";
import type { Layout } from "./layout";
import { payload } from "./payload";
import type { Colours } from "./theme";

/** World to screen: `screen = world · k + (x, y)`. */
export interface Transform {
  k: number;
  x: number;
  y: number;
}

export interface Marks {
  selected: number;
  hovered: number;
  matches: Set<number>;
}

const WIDTHS = 6;
const CURVED_UP_TO = 4000;

/** What is drawn on: a canvas, or an SVG image in the making. */
export type Pen = CanvasRenderingContext2D & { newPath?: () => Path2D };

export function paint(
  context: Pen,
  size: { width: number; height: number },
  forest: Forest,
  layout: Layout,
  transform: Transform,
  colours: Colours,
  marks: Marks,
): void {
  const { width, height } = size;
  const { k, x: dx, y: dy } = transform;
  const { visible, x, y } = layout;
  const newPath = context.newPath ?? (() => new Path2D());
  context.fillStyle = colours.background;
  context.fillRect(0, 0, width, height);
  const slot = layout.slot * k;
  const scale = Math.min(1.25, Math.max(0.22, slot / 13));
  const colour = (node: number) =>
    forest.branch[node] < 0 ? colours.muted : colours.branches[forest.branch[node] % colours.branches.length];
  const isOn = (px: number, py: number, margin: number) =>
    px > -margin && py > -margin && px < width + margin && py < height + margin;

  // From afar a subtree narrower than a pixel is but a shade.
  const isSmall = (node: number) => slot < 1.5 && forest.leaves[node] * slot < 1.2;
  // Edges, a path for each colour and width.
  const isCurved = visible.length <= CURVED_UP_TO;
  const paths = new Map<string, Path2D>();
  for (const node of visible) {
    const parent = forest.parent[node];
    if (parent < 0) continue;
    const [x1, y1, x2, y2] = [x[parent] * k + dx, y[parent] * k + dy, x[node] * k + dx, y[node] * k + dy];
    if (Math.max(x1, x2) < -20 || Math.max(y1, y2) < -20 || Math.min(x1, x2) > width + 20 || Math.min(y1, y2) > height + 20)
      continue;
    const strength = payload.strengths[forest.edge(node, parent)] ?? 0.3;
    const bucket = isSmall(node) ? -1 : Math.min(WIDTHS - 1, Math.floor(strength * WIDTHS));
    const isDoubtful = (payload.supports[forest.edge(node, parent)] ?? 1) < 0.5;
    const key = `${bucket} ${colour(node)} ${isDoubtful ? "dashed" : "whole"} ${forest.hasGroups && forest.branch[node] < 0 ? "faint" : ""}`;
    let path = paths.get(key);
    if (!path) paths.set(key, (path = newPath()));
    path.moveTo(x1, y1);
    if (!isCurved) path.lineTo(x2, y2);
    else if (layout.name === "layered") path.bezierCurveTo((x1 + x2) / 2, y1, (x1 + x2) / 2, y2, x2, y2);
    else {
      // Leaves its parent outwards and arrives from the middle.
      const far = (layout.far[parent] + layout.far[node]) / 2;
      const [a, b] = [layout.turn[layout.far[parent] === 0 ? node : parent], layout.turn[node]];
      const [rx, ry] = layout.radii;
      const control = (turn: number): [number, number] => [rx * far * Math.cos(turn) * k + dx, ry * far * Math.sin(turn) * k + dy];
      path.bezierCurveTo(...control(a), ...control(b), x2, y2);
    }
  }
  context.lineCap = "round";
  // The faint ones first.
  const ordered = [...paths].map(([key, path]) => {
    const [bucket, stroke, dash, faint] = key.split(" ");
    // What belongs to no group stands behind what does.
    return { bucket: Number(bucket), stroke, dash: dash === "dashed" ? [7 * scale, 6 * scale] : [], isFaint: faint === "faint", path };
  });
  ordered.sort((a, b) => Number(b.isFaint) - Number(a.isFaint) || a.bucket - b.bucket);
  for (const { bucket, stroke, dash, isFaint, path } of ordered) {
    context.setLineDash(dash);
    context.strokeStyle = stroke;
    context.globalAlpha = (isFaint ? 0.5 : 1) * (bucket < 0 ? 0.16 : 0.5 + 0.08 * bucket);
    context.lineWidth = bucket < 0 ? 0.5 : Math.max(0.4, (0.8 + (4.2 * bucket) / (WIDTHS - 1)) * scale);
    context.stroke(path);
  }
  context.setLineDash([]);
  context.globalAlpha = 1;

  // Nodes: a disc is observed, a ring hidden, a full ring collapsed.
  const discs = new Map<string, Path2D>();
  const rings = new Map<string, Path2D>();
  const shut: number[] = [];
  for (const node of visible) {
    const [px, py] = [x[node] * k + dx, y[node] * k + dy];
    if (!isOn(px, py, 12)) continue;
    const isObserved = payload.observed[node] === 1;
    if (forest.collapsed[node]) shut.push(node);
    if (slot < 1.5 && forest.leaves[node] * slot < 4) continue;
    const stroke = colour(node);
    const kind = isObserved ? discs : rings;
    let path = kind.get(stroke);
    if (!path) kind.set(stroke, (path = newPath()));
    const radius = (isObserved ? 3.6 : 3.4 + Math.min(4, Math.log2(1 + forest.leaves[node]) * 0.6)) * scale;
    if (radius < 1.4) path.rect(px - radius, py - radius, 2 * radius, 2 * radius);
    else {
      path.moveTo(px + radius, py);
      path.arc(px, py, radius, 0, 2 * Math.PI);
    }
  }
  for (const [fill, path] of discs) {
    context.fillStyle = fill;
    context.fill(path);
  }
  context.lineWidth = Math.max(0.8, 1.8 * scale);
  for (const [stroke, path] of rings) {
    context.fillStyle = colours.background;
    context.fill(path);
    context.strokeStyle = stroke;
    context.stroke(path);
  }
  for (const node of shut) {
    const [px, py] = [x[node] * k + dx, y[node] * k + dy];
    context.fillStyle = colour(node);
    context.beginPath();
    context.arc(px, py, Math.max(2.5, 7 * scale), 0, 2 * Math.PI);
    context.fill();
  }
  marked(context, layout, transform, colours, marks, scale);
  paintLabels(context, size, forest, layout, transform, colours, marks, slot, colour);
}

function marked(
  context: Pen,
  layout: Layout,
  { k, x: dx, y: dy }: Transform,
  colours: Colours,
  marks: Marks,
  scale: number,
): void {
  const ring = (node: number, radius: number, fill: string | null) => {
    context.beginPath();
    context.arc(layout.x[node] * k + dx, layout.y[node] * k + dy, radius, 0, 2 * Math.PI);
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.stroke();
  };
  if (marks.selected < 0 && marks.hovered < 0 && marks.matches.size === 0) return;
  const on = new Set(layout.visible);
  for (const node of marks.matches) if (on.has(node)) ring(node, Math.max(4, 7 * scale), colours.halo);
  if (marks.hovered >= 0 && on.has(marks.hovered)) ring(marks.hovered, Math.max(5, 9 * scale), null);
  if (marks.selected >= 0 && on.has(marks.selected)) ring(marks.selected, Math.max(6, 11 * scale), colours.halo);
}
