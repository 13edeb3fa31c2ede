/** Groups of variables: which are inside which, and where a node belongs. */
import { payload, type Group } from "./payload";
import type { Colours } from "./theme";

/** No group: all variables. */
export const ALL = -1;
const STRONG = 0.9;
const WEAK = 0.5;

export class Groups {
  readonly all: Group[] = payload.groups;
  readonly broad: number[] = [];
  /** The finest group of a node; `ALL` for none. */
  readonly finest = new Int32Array(payload.names.length).fill(ALL);
  /** The number of a node's colour; −1 for nodes of no group, or of the one for what belongs to no other. */
  readonly colour = new Int32Array(payload.names.length).fill(-1);
  private readonly inside: number[][] = this.all.map(() => []);
  private readonly ofNode = new Map<number, number>();
  private readonly hues: number[] = [];

  constructor() {
    const known = new Float64Array(payload.names.length).fill(-1);
    this.all.forEach((group, ix) => {
      if (group.parent === null) this.broad.push(ix);
      else this.inside[group.parent].push(ix);
      const broadHue = group.node === null ? -1 : this.broad.length - 1;
      this.hues.push(group.parent === null ? broadHue : this.hues[group.parent]);
      if (group.node !== null) this.ofNode.set(group.node, ix);
      // A finer group stands after the one that it is inside of; of two of one level the one that says more has a variable.
      const isFiner = (node: number) => this.finest[node] === ALL || this.all[this.finest[node]].level < group.level;
      group.variables.forEach((node, at) => {
        if (!isFiner(node) && group.information[at] <= known[node]) return;
        this.finest[node] = ix;
        known[node] = group.information[at];
      });
      for (const node of group.hidden) if (isFiner(node)) this.finest[node] = ix;
    });
    this.ofNode.forEach((group, node) => (this.finest[node] = group));
    this.finest.forEach((group, node) => {
      if (group !== ALL) this.colour[node] = this.hues[group];
    });
  }

  /** The group that stands around a hidden node. */
  around(node: number): number {
    return this.ofNode.get(node) ?? ALL;
  }

  children(group: number): number[] {
    return group === ALL ? this.broad : this.inside[group];
  }

  /** From the broad group to this one. */
  path(group: number): number[] {
    const path: number[] = [];
    for (let at = group; at !== ALL; at = this.all[at].parent ?? ALL) path.unshift(at);
    return path;
  }

  /** Variables of a group that no finer one has, with their information. */
  own(group: number): { node: number; information: number }[] {
    if (group === ALL) return [];
    const finer = new Set(this.inside[group].flatMap((it) => this.all[it].variables));
    const { variables, information } = this.all[group];
    return variables.map((node, at) => ({ node, information: information[at] })).filter((it) => !finer.has(it.node));
  }

  /** The colour of a group: that of the broad one that it is in. */
  hue(group: number, colours: Colours): string {
    const hue = this.hues[group];
    return hue < 0 ? colours.muted : colours.branches[hue % colours.branches.length];
  }
}

/** How sure a group is, as a sign. */
export function sureness(support: number): string {
  if (support >= STRONG) return "●";
  return support >= WEAK ? "◐" : "○";
}
