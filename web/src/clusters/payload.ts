/** What the page knows, as written by `crates/latentree/src/report/cluster_page.rs`. */
export interface Group {
  name: string;
  parent: number | null;
  children: [number, number] | null;
  size: number | null;
  share: number | null;
  relevant: string[];
  /** Place of the feature, its share of the group's rows (the mean of a number), and the same of all rows. */
  frequent: [number, number, number][];
  /** Only of a model of words: the words of the topic, and their coherence if there are data. */
  topic: { words: string[]; npmi: number | null; cV: number | null } | null;
}

export interface Sample {
  rows: number[];
  groups: number[];
  features: number[];
  /** A digit for each feature: 0 or 9 for events, between them for numbers. */
  cells: string[];
  /** Percentages of topics. */
  shares: number[][];
}

export interface Payload {
  format: number;
  title: string;
  kind: "mixture" | "topics" | "clusters";
  data: string | null;
  rows: number | null;
  options: [string, string][];
  groups: Group[];
  features: { name: string; isNumber: boolean }[];
  sample: Sample | null;
}

export const payload = JSON.parse(document.getElementById("clusters-data")?.textContent || "null") as Payload;
