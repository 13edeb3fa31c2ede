/** What the page knows, as written by `crates/latentree/src/report/page/payload.rs`. Lists are by node unless said otherwise. */
export interface Payload {
  format: number;
  title: string;
  family: "discrete" | "gaussian" | "tree";
  dataName: string | null;
  names: string[];
  observed: (0 | 1)[];
  parents: number[];
  kinds: string[];
  lengths: (number | null)[];
  supports: (number | null)[];
  information: (number | null)[];
  strengths: (number | null)[];
  topics: number[][];
  labelSets: (string[] | Record<number, string>)[];
  labels: number[];
  marginals: number[][];
  shownStates: Record<number, number[]>;
  members: { name: string; labels: number }[];
  /** What hidden nodes are called. */
  nodeLabels: (string | null)[];
  /** Groups of variables, each before the finer ones inside it. */
  groups: Group[];
  fit: Fit;
  misfits: MisfitTable | null;
}

export interface Group {
  /** The hidden node; none for the group of what belongs to no other. */
  node: number | null;
  label: string;
  /** 1 for the broad groups. */
  level: number;
  /** Place in the list. */
  parent: number | null;
  /** Observed nodes, the most telling first, and what the node says about them in nats. */
  variables: number[];
  information: number[];
  hidden: number[];
  /** In words. */
  states: string[];
  /** Of the rows that are not in the first state. */
  share: number | null;
  support: number | null;
  description: string;
  /** Only of a model of words. */
  topic: Topic | null;
}

/** A topic: its words, and their coherence if there are data. */
export interface Topic {
  words: string[];
  npmi: number | null;
  cV: number | null;
}

export interface Details {
  profiles: Entry[][];
  rows: Record<number, Rows>;
}

export interface Entry {
  /** Node. */
  n: number;
  /** Member of a group. */
  m?: number;
  /** Mutual information in nats. */
  i?: number;
  /** Labels whose probabilities are given; left out for the second of two. */
  l?: number[];
  /** Probabilities of the labels, state by state. */
  p?: number[];
  /** Mean and standard deviation, state by state. */
  g?: number[];
  /** Correlation. */
  r?: number;
  /** Distance. */
  d?: number;
}

export type Row = [row: number, value: number, cells: (number | null)[]];

export interface Rows {
  shares: number[];
  typical: Row[][];
}

export interface Fit {
  parameters: number | null;
  rows: number | null;
  logLikelihood: number | null;
  meanLogLikelihood: number | null;
  bic: number | null;
  impossibleRows: number | null;
  program: string | null;
  seed: number | null;
  learnedRows: number | null;
  digest: string | null;
  options: [string, string][];
  stages: [string, number][];
}

export type Side = [node: number, member: number | null, label: number | null];

export interface Misfit {
  sides: [Side, Side];
  isCorrelation: boolean;
  observed: number;
  expected: number;
  z: number;
}

export interface MisfitTable {
  pairs: number;
  beyondFour: number;
  columns: number;
  allColumns: number;
  worst: Misfit[];
}

export interface Export {
  format: string;
  ending: string;
  bytes: number;
  packed: string | null;
  problem: string | null;
}

function parse<T>(id: string): T {
  const element = document.getElementById(id);
  return JSON.parse(element?.textContent || "null") as T;
}

export const payload: Payload = parse("tree-data");

let details: Details | null = null;

/** Profiles and rows. They stand below the program, so that the tree is drawn before they are read. */
export function readDetails(): Details {
  return (details ??= parse<Details>("details-data"));
}

export function readExports(): Export[] {
  return parse<Export[]>("exports-data");
}
