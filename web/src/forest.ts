/** The tree as it is looked at: from a root that can be changed, with nodes that can be collapsed. */
import type { Groups } from "./groups";
import { payload } from "./payload";

/** Colours that branches are told apart by. */
const BRANCHES = 10;

export class Forest {
  readonly n = payload.names.length;
  /** Parent as seen from the current root; −1 for roots. */
  readonly parent = new Int32Array(this.n).fill(-1);
  readonly depth = new Int32Array(this.n);
  /** Parents before children, subtrees in one piece. */
  readonly order = new Int32Array(this.n);
  /** Observed nodes in the subtree, the node itself included. */
  readonly leaves = new Int32Array(this.n);
  /** The broad group that a node belongs to, or the branch below the root that it is in, for its colour. */
  readonly branch = new Int32Array(this.n);
  /** The nodes that broad groups stand around, or that branches begin with. */
  readonly isHead = new Uint8Array(this.n);
  readonly collapsed = new Uint8Array(this.n);
  roots: number[] = [];
  private readonly starts: Int32Array;
  private readonly neighbours: Int32Array;
  private listeners: (() => void)[] = [];

  constructor(private readonly groups: Groups) {
    const degree = new Int32Array(this.n);
    payload.parents.forEach((parent, node) => {
      if (parent >= 0) {
        degree[node]++;
        degree[parent]++;
      }
    });
    this.starts = new Int32Array(this.n + 1);
    for (let node = 0; node < this.n; node++) this.starts[node + 1] = this.starts[node] + degree[node];
    this.neighbours = new Int32Array(this.starts[this.n]);
    const next = this.starts.slice();
    payload.parents.forEach((parent, node) => {
      if (parent >= 0) {
        this.neighbours[next[node]++] = parent;
        this.neighbours[next[parent]++] = node;
      }
    });
    this.root(payload.parents.flatMap((parent, node) => (parent < 0 ? [node] : [])));
  }

  /** Whether colours are those of groups. */
  get hasGroups(): boolean {
    return this.groups.all.length > 0;
  }

  get nBroad(): number {
    return this.groups.broad.length;
  }

  /** What the broad group of a colour is called. */
  groupLabel(branch: number): string {
    return this.groups.all[this.groups.broad[branch]]?.label ?? "";
  }

  neighboursOf(node: number): Int32Array {
    return this.neighbours.subarray(this.starts[node], this.starts[node + 1]);
  }

  children(node: number): number[] {
    const children: number[] = [];
    for (const other of this.neighboursOf(node)) if (other !== this.parent[node]) children.push(other);
    return children;
  }

  hasChildren(node: number): boolean {
    return this.starts[node + 1] - this.starts[node] > (this.parent[node] < 0 ? 0 : 1);
  }

  /** The number that the edge's facts stand under: its end that was the child when the page was made. */
  edge(a: number, b: number): number {
    return payload.parents[a] === b ? a : b;
  }

  private root(roots: number[]): void {
    // Trees first, then nodes that stand alone.
    this.roots = [...roots].sort((a, b) => Number(this.neighboursOf(b).length > 0) - Number(this.neighboursOf(a).length > 0));
    const stack: number[] = [];
    let at = 0;
    for (const root of this.roots) {
      this.parent[root] = -1;
      this.depth[root] = 0;
      stack.push(root);
      while (stack.length > 0) {
        const node = stack.pop() as number;
        this.order[at++] = node;
        const parent = this.parent[node];
        const neighbours = this.neighboursOf(node);
        for (let ix = neighbours.length - 1; ix >= 0; ix--) {
          const child = neighbours[ix];
          if (child === parent) continue;
          this.parent[child] = node;
          this.depth[child] = this.depth[node] + 1;
          stack.push(child);
        }
      }
    }
    this.leaves.fill(0);
    for (let ix = this.n - 1; ix >= 0; ix--) {
      const node = this.order[ix];
      if (payload.observed[node]) this.leaves[node]++;
      if (this.parent[node] >= 0) this.leaves[this.parent[node]] += this.leaves[node];
    }
    if (this.groups.all.length === 0) this.colour();
    else {
      this.groups.colour.forEach((colour, node) => (this.branch[node] = colour));
      for (const group of this.groups.broad) {
        const { node } = this.groups.all[group];
        if (node !== null) this.isHead[node] = 1;
      }
    }
  }

  /** Branches that are coloured alike: the largest is parted until there are enough, or none is large. */
  private colour(): void {
    const total = this.roots.reduce((sum, root) => sum + this.leaves[root], 0);
    const heads = this.roots.filter((root) => this.hasChildren(root));
    const done: number[] = [];
    // Twigs do not count, or a long spine would use the colours up.
    const n_large = (nodes: number[]) => nodes.filter((node) => this.leaves[node] >= 0.02 * total).length;
    while (heads.length > 0 && n_large(heads) + n_large(done) < BRANCHES) {
      let largest = 0;
      heads.forEach((head, ix) => (this.leaves[head] > this.leaves[heads[largest]] ? (largest = ix) : 0));
      const [head] = heads.splice(largest, 1);
      const inner = this.children(head).filter((child) => this.hasChildren(child));
      const own = this.leaves[head] - inner.reduce((sum, child) => sum + this.leaves[child], 0);
      // Leaves of its own are left without a colour, so they must be few beside it.
      const isWhole = this.leaves[head] < (own > 0 ? 0.3 : 0.1) * total || inner.length === 0 || own > Math.max(1, 0.02 * total);
      if (isWhole || n_large(heads) + n_large(done) + n_large(inner) > 2 * BRANCHES) done.push(head);
      else heads.push(...inner);
    }
    heads.push(...done);
    this.branch.fill(-1);
    // In the order of the outline, so that neighbours differ.
    const { isHead } = this;
    isHead.fill(0);
    for (const head of heads) isHead[head] = 1;
    let next = 0;
    for (const node of this.order) {
      if (isHead[node]) this.branch[node] = next++;
      else if (this.parent[node] >= 0) this.branch[node] = this.branch[this.parent[node]];
    }
  }

  /** Looks at the tree from another node. */
  reroot(node: number): void {
    let old = node;
    while (this.parent[old] >= 0) old = this.parent[old];
    this.collapsed[node] = 0;
    // What is collapsed must not hide the way to the new root.
    for (let up = this.parent[node]; up >= 0; up = this.parent[up]) this.collapsed[up] = 0;
    this.root(this.roots.map((root) => (root === old ? node : root)));
    this.changed();
  }

  isVisible(node: number): boolean {
    for (let up = this.parent[node]; up >= 0; up = this.parent[up]) if (this.collapsed[up]) return false;
    return true;
  }

  reveal(node: number): void {
    let hidden = false;
    for (let up = this.parent[node]; up >= 0; up = this.parent[up]) {
      if (this.collapsed[up]) hidden = true;
      this.collapsed[up] = 0;
    }
    if (hidden) this.changed();
  }

  toggle(node: number, collapse = !this.collapsed[node]): void {
    if (!this.hasChildren(node) || Boolean(this.collapsed[node]) === collapse) return;
    this.collapsed[node] = collapse ? 1 : 0;
    this.changed();
  }

  /** All visible nodes, parents before children. */
  visible(): Int32Array {
    const out = new Int32Array(this.n);
    let count = 0;
    for (let ix = 0; ix < this.n;) {
      const node = this.order[ix];
      out[count++] = node;
      if (!this.collapsed[node]) ix++;
      else {
        const depth = this.depth[node];
        do ix++;
        while (ix < this.n && this.depth[this.order[ix]] > depth);
      }
    }
    return out.subarray(0, count);
  }

  /** Collapses the deepest visible level of inner nodes. */
  fewer(): void {
    let deepest = 0;
    const open: number[] = [];
    for (const node of this.visible()) {
      if (this.collapsed[node] || !this.hasChildren(node)) continue;
      if (this.depth[node] > deepest) open.length = 0;
      deepest = Math.max(deepest, this.depth[node]);
      if (this.depth[node] === deepest) open.push(node);
    }
    if (deepest === 0) return;
    for (const node of open) this.collapsed[node] = 1;
    this.changed();
  }

  /** Expands the collapsed nodes that are nearest to the root. */
  more(): void {
    let least = Infinity;
    const shut: number[] = [];
    for (const node of this.visible()) {
      if (!this.collapsed[node]) continue;
      if (this.depth[node] < least) shut.length = 0;
      least = Math.min(least, this.depth[node]);
      if (this.depth[node] === least) shut.push(node);
    }
    for (const node of shut) this.collapsed[node] = 0;
    if (shut.length > 0) this.changed();
  }

  expandAll(): void {
    this.collapsed.fill(0);
    this.changed();
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }
}
