/** Draws a layout on a canvas: edges, nodes, and the labels that there is room for. */
import type { Forest } from "./forest";
import { grouped, title } from "./format";
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
const MOST_LABELS = 420;

/** Rectangles that are taken, in cells of a grid. */
class Room {
  private readonly taken: Uint8Array;
  private readonly columns: number;
  private readonly rows: number;
  constructor(
    private readonly width: number,
    private readonly height: number,
    private readonly cell = 6,
  ) {
    this.columns = Math.ceil(width / cell);
    this.rows = Math.ceil(height / cell);
    this.taken = new Uint8Array(this.columns * this.rows);
  }

  /** Takes the cells under some points of a line of text, unless one is taken. */
  take(x: number, y: number, length: number, angle: number, thick: number): boolean {
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const cells: number[] = [];
    for (let across = -thick / 2; across <= thick / 2; across += this.cell / 2) {
      for (let along = 0; along <= length; along += this.cell) {
        const [px, py] = [x + along * cos - across * sin, y + along * sin + across * cos];
        if (px < 0 || py < 0 || px >= this.width || py >= this.height) continue;
        const cell = Math.floor(py / this.cell) * this.columns + Math.floor(px / this.cell);
        if (this.taken[cell]) return false;
        cells.push(cell);
      }
    }
    for (const cell of cells) this.taken[cell] = 1;
    return true;
  }
}

export function paint(
  context: CanvasRenderingContext2D,
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
    const key = `${bucket} ${colour(node)} ${isDoubtful ? "dashed" : ""}`;
    let path = paths.get(key);
    if (!path) paths.set(key, (path = new Path2D()));
    path.moveTo(x1, y1);
    if (!isCurved) path.lineTo(x2, y2);
    else if (layout.name === "layered") path.bezierCurveTo((x1 + x2) / 2, y1, (x1 + x2) / 2, y2, x2, y2);
    else {
      // Leaves its parent outwards and arrives from the middle.
      const [px, py, cx, cy] = [x[parent], y[parent], x[node], y[node]];
      const far = (Math.hypot(px, py) + Math.hypot(cx, cy)) / 2;
      const [a, b] = [px === 0 && py === 0 ? layout.angle[node] : layout.angle[parent], layout.angle[node]];
      const control = (angle: number): [number, number] => [far * Math.cos(angle) * k + dx, far * Math.sin(angle) * k + dy];
      path.bezierCurveTo(...control(a), ...control(b), x2, y2);
    }
  }
  context.lineCap = "round";
  // The faint ones first.
  const ordered = [...paths].map(([key, path]) => {
    const [bucket, stroke, dash] = key.split(" ");
    return { bucket: Number(bucket), stroke, dash: dash ? [7 * scale, 6 * scale] : [], path };
  });
  ordered.sort((a, b) => a.bucket - b.bucket);
  for (const { bucket, stroke, dash, path } of ordered) {
    context.setLineDash(dash);
    context.strokeStyle = stroke;
    context.globalAlpha = bucket < 0 ? 0.16 : 0.5 + 0.08 * bucket;
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
    if (!path) kind.set(stroke, (path = new Path2D()));
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
  labels(context, size, forest, layout, transform, colours, marks, slot, colour);
}

function marked(
  context: CanvasRenderingContext2D,
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

function labels(
  context: CanvasRenderingContext2D,
  { width, height }: { width: number; height: number },
  forest: Forest,
  layout: Layout,
  { k, x: dx, y: dy }: Transform,
  colours: Colours,
  marks: Marks,
  slot: number,
  colour: (node: number) => string,
): void {
  const { x, y, angle } = layout;
  const isRadial = layout.name === "radial";
  // First what is marked, then hidden nodes by the size of what they stand for, then leaves.
  const hasRoom = slot >= 8.5;
  const candidates: number[] = [];
  for (const node of layout.visible) {
    const isMarked = node === marks.selected || node === marks.hovered || marks.matches.has(node);
    const [px, py] = [x[node] * k + dx, y[node] * k + dy];
    if (px < -160 || py < -160 || px > width + 160 || py > height + 160) continue;
    if (payload.observed[node] && !hasRoom && !isMarked) continue;
    candidates.push(node);
  }
  const rank = (node: number) => {
    if (node === marks.selected) return 5e9;
    if (node === marks.hovered) return 4e9;
    if (marks.matches.has(node)) return 3e9;
    if (payload.observed[node]) return hasRoom ? 2e9 : 0;
    return (forest.isHead[node] ? 1e9 : 0) + forest.leaves[node];
  };
  candidates.sort((a, b) => rank(b) - rank(a) || a - b);
  const room = new Room(width, height);
  const size = Math.round(Math.min(13, Math.max(8.5, slot * 0.9)) * 2) / 2;
  // In a crowd a name for every corner of the picture is enough.
  const n_hidden = candidates.reduce((sum, node) => sum + 1 - payload.observed[node], 0);
  let hiddenLeft = n_hidden <= 60 ? n_hidden : Math.max(12, Math.round((width * height) / 26000));
  let drawn = 0;
  context.textBaseline = "middle";
  context.lineJoin = "round";
  for (const node of candidates) {
    if (drawn >= MOST_LABELS) break;
    if (!payload.observed[node] && hiddenLeft <= 0) continue;
    const [px, py] = [x[node] * k + dx, y[node] * k + dy];
    const isObserved = payload.observed[node] === 1;
    const isEnd = isObserved && !forest.hasChildren(node);
    const isShut = forest.collapsed[node] === 1;
    const isStrong = node === marks.selected || node === marks.hovered;
    context.font = `${isObserved ? 400 : 600} ${isObserved ? size : Math.min(size, 11.5)}px system-ui, sans-serif`;
    let text = isObserved ? title(node, 32) : title(node, 20, isStrong || isShut ? 3 : width < 600 ? 1 : 2);
    if (isShut) text += `  +${grouped(forest.leaves[node])}`;
    const length = context.measureText(text).width;
    let [turn, gap, align] = [0, 8, "left" as CanvasTextAlign];
    let [tx, ty] = [px, py];
    if (isEnd || isShut) {
      if (isRadial) {
        turn = angle[node];
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
    const free = room.take(
      tx + start * Math.cos(turn),
      ty + start * Math.sin(turn),
      length,
      turn,
      isEnd ? Math.min(8, slot * 0.7) : 13,
    );
    // Names of leaves stand side by side: their slots are wide enough.
    if (!free && !isStrong && !(isEnd && hasRoom)) continue;
    drawn++;
    if (!isObserved) hiddenLeft--;
    context.save();
    context.translate(tx, ty);
    context.rotate(turn);
    context.textAlign = align;
    context.direction = "ltr";
    if (!isEnd) {
      context.strokeStyle = colours.background;
      context.lineWidth = 4;
      context.strokeText(text, 0, 0);
    }
    context.fillStyle = isStrong ? colours.accent : isObserved ? colours.ink : colour(node);
    context.fillText(text, 0, 0);
    context.restore();
  }
}
