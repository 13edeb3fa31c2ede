/** Where the visible nodes stand. Leaves share a line (or an ellipse) at even distances; a parent stands in the middle of its children. */
import type { Forest } from "./forest";

export type LayoutName = "radial" | "layered";

export interface Layout {
  name: LayoutName;
  visible: Int32Array;
  /** By node. */
  x: Float32Array;
  y: Float32Array;
  /** Direction in which a node's name goes out of the ellipse, radial only. */
  angle: Float32Array;
  /** A node's place on its own ellipse, and the size of that from 0 to 1, radial only. */
  turn: Float32Array;
  far: Float32Array;
  radii: [x: number, y: number];
  /** Distance of neighbouring leaves. */
  slot: number;
  /** Characters of a leaf's name that there is room for. */
  nameLength: number;
  /** Smallest and largest coordinates. */
  bounds: [left: number, top: number, right: number, bottom: number];
}

const FAMILY_GAP = 0.6;
const ROW = 20;
const LEAST_LAYER = 70;
const MOST_LAYER = 400;
const RING = 84;
/** The ellipse is at most so many times wider or higher than a circle. */
const MOST_STRETCH = 1.45;
const SAMPLES = 720;

/** The parameter of an ellipse at a share of its way around, from the top on, and how long the way is. */
function around(rx: number, ry: number): { length: number; at: (share: number) => number } {
  const way = new Float64Array(SAMPLES + 1);
  const step = (2 * Math.PI) / SAMPLES;
  for (let ix = 0; ix < SAMPLES; ix++) {
    const middle = (ix + 0.5) * step - Math.PI / 2;
    way[ix + 1] = way[ix] + step * Math.hypot(rx * Math.sin(middle), ry * Math.cos(middle));
  }
  const length = way[SAMPLES];
  const at = (share: number) => {
    const wanted = share * length;
    let [low, high] = [0, SAMPLES];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (way[middle] <= wanted) low = middle;
      else high = middle;
    }
    return (low + (wanted - way[low]) / (way[high] - way[low])) * step - Math.PI / 2;
  };
  return { length, at };
}

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
    turn: new Float32Array(n),
    far: new Float32Array(n),
    radii: [0, 0],
    slot: ROW,
    nameLength: 32,
    bounds: [Infinity, Infinity, -Infinity, -Infinity],
  };
  const { x, y, angle, bounds } = result;
  const levels = Math.max(1, highest);
  // From 0 at the root to 1 at the leaves. In a deep tree most nodes are near the leaves: there they get more room.
  const bend = levels > 5 ? Math.log(5) / Math.log(levels) : 1;
  const outward = (node: number, from = levels) => 1 - (height[node] / from) ** bend;
  if (name === "radial") {
    const radius = Math.max((total * ROW) / (2 * Math.PI), Math.min(levels, 12) * RING);
    const stretch = Math.min(MOST_STRETCH, Math.max(1 / MOST_STRETCH, Math.sqrt(aspect)));
    const [rx, ry] = (result.radii = [radius * stretch, radius / stretch]);
    const ellipse = around(rx, ry);
    result.slot = ellipse.length / total;
    for (const node of visible) {
      const turn = ellipse.at(place[node] / total);
      // A forest has no node in the middle.
      const isCentre = forest.parent[node] < 0 && forest.roots.length === 1;
      const far = isCentre && height[node] > 0 ? 0 : outward(node, forest.roots.length > 1 ? levels + 1 : levels);
      result.turn[node] = turn;
      result.far[node] = far;
      angle[node] = Math.atan2(Math.sin(turn) / ry, Math.cos(turn) / rx);
      x[node] = rx * far * Math.cos(turn);
      y[node] = ry * far * Math.sin(turn);
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
