/** Where the visible nodes stand. Leaves share a line (or a circle) at even distances; a parent stands in the middle of its children. */
import type { Forest } from "./forest";

export type LayoutName = "radial" | "layered";

export interface Layout {
  name: LayoutName;
  visible: Int32Array;
  /** By node. */
  x: Float32Array;
  y: Float32Array;
  /** Direction of a node from the middle, radial only. */
  angle: Float32Array;
  /** Distance of neighbouring leaves. */
  slot: number;
  /** Smallest and largest coordinates. */
  bounds: [left: number, top: number, right: number, bottom: number];
}

const FAMILY_GAP = 0.6;
const ROW = 20;
const LEAST_LAYER = 70;
const MOST_LAYER = 400;
const RING = 84;

/** `aspect` is the width of the room for the picture over its height. */
export function layout(forest: Forest, name: LayoutName, aspect: number): Layout {
  const { n } = forest;
  const visible = forest.visible();
  const place = new Float64Array(n);
  const height = new Int32Array(n);
  // Slots of leaves, in order; families stand a little apart.
  let at = 0;
  let lastParent = -2;
  const isLeaf = (node: number) => forest.collapsed[node] === 1 || !forest.hasChildren(node);
  for (const node of visible) {
    if (!isLeaf(node)) continue;
    const parent = forest.parent[node];
    if (lastParent !== -2) at += parent === lastParent && parent >= 0 ? 1 : 1 + FAMILY_GAP;
    lastParent = parent;
    place[node] = at;
  }
  const total = at + 1 + FAMILY_GAP;
  const first = new Float64Array(n).fill(Infinity);
  const last = new Float64Array(n).fill(-Infinity);
  let highest = 0;
  for (let ix = visible.length - 1; ix >= 0; ix--) {
    const node = visible[ix];
    if (!isLeaf(node)) place[node] = (first[node] + last[node]) / 2;
    const parent = forest.parent[node];
    if (parent >= 0) {
      height[parent] = Math.max(height[parent], height[node] + 1);
      first[parent] = Math.min(first[parent], place[node]);
      last[parent] = Math.max(last[parent], place[node]);
    } else highest = Math.max(highest, height[node]);
  }
  const result: Layout = {
    name,
    visible,
    x: new Float32Array(n),
    y: new Float32Array(n),
    angle: new Float32Array(n),
    slot: ROW,
    bounds: [Infinity, Infinity, -Infinity, -Infinity],
  };
  const { x, y, angle, bounds } = result;
  const levels = Math.max(1, highest);
  // From 0 at the root to 1 at the leaves. In a deep tree most nodes are near the leaves: there they get more room.
  const bend = levels > 5 ? Math.log(5) / Math.log(levels) : 1;
  const outward = (node: number, from = levels) => 1 - (height[node] / from) ** bend;
  if (name === "radial") {
    const radius = Math.max((total * ROW) / (2 * Math.PI), Math.min(levels, 12) * RING);
    result.slot = (radius * 2 * Math.PI) / total;
    for (const node of visible) {
      const turn = (place[node] / total) * 2 * Math.PI - Math.PI / 2;
      // A forest has no node in the middle.
      const isCentre = forest.parent[node] < 0 && forest.roots.length === 1;
      const far = isCentre && height[node] > 0 ? 0 : radius * outward(node, forest.roots.length > 1 ? levels + 1 : levels);
      angle[node] = turn;
      x[node] = far * Math.cos(turn);
      y[node] = far * Math.sin(turn);
    }
  } else {
    const filling = (total * ROW * aspect) / levels;
    const layer = visible.length > 2000 ? filling : Math.min(MOST_LAYER, Math.max(LEAST_LAYER, filling));
    for (const node of visible) {
      x[node] = outward(node) * levels * layer;
      y[node] = place[node] * ROW;
    }
  }
  for (const node of visible) {
    bounds[0] = Math.min(bounds[0], x[node]);
    bounds[1] = Math.min(bounds[1], y[node]);
    bounds[2] = Math.max(bounds[2], x[node]);
    bounds[3] = Math.max(bounds[3], y[node]);
  }
  return result;
}
