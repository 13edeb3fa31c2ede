/** Numbers and names as people read them. */
import { payload } from "./payload";

const MINUS = "−";

export function number(value: number, digits = 3): string {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 1e7 || size < 1e-4) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
    return `${mantissa}e${exponent.replace("+", "")}`.replace(/-/g, MINUS);
  }
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return grouped(value, Math.min(decimals, 6));
}

export function grouped(value: number, decimals = 0): string {
  const options = { minimumFractionDigits: 0, maximumFractionDigits: decimals };
  return value.toLocaleString("en-GB", options).replace("-", MINUS);
}

export function percent(value: number): string {
  const share = 100 * value;
  if (share > 0 && share < 0.1) return "<0.1%";
  if (share < 100 && share > 99.9) return ">99.9%";
  return `${share.toFixed(share < 9.95 && share > 0 ? 1 : 0)}%`;
}

export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  return size < 1e6 ? `${Math.round(size / 1e3)} kB` : `${(size / 1e6).toFixed(1)} MB`;
}

/** A text cut to some characters, none of them halved. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const characters = Array.from(text.slice(0, 4 * most));
  return characters.length <= most ? text.slice(0, 4 * most) : `${characters.slice(0, most - 1).join("")}…`;
}

/** Control characters, line breaks included, would disturb a line of text. */
export function oneLine(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, "·");
}

const FIRST_ISOLATE = "\u2068";
const POP_ISOLATE = "\u2069";
const SEPARATOR = " · ";

/** What a node is called: an observed one by its name, a hidden one by what it is about. */
export function title(node: number, each = 40, names = 3): string {
  if (payload.observed[node]) return oneLine(cut(payload.names[node], each));
  const label = payload.nodeLabels[node];
  if (label !== null) return groupTitle(label, each, names);
  const topic = payload.topics[node];
  if (topic.length === 0) return oneLine(cut(payload.names[node], each));
  return topic
    .slice(0, names)
    .map((leaf) => FIRST_ISOLATE + oneLine(cut(payload.names[leaf], each)) + POP_ISOLATE)
    .join(SEPARATOR);
}

/** A label in its parts: the variables that it names. */
export function labelParts(label: string, each = 40): string[] {
  return label.split(SEPARATOR).map((part) => oneLine(cut(part, each)));
}

/** A label whose parts do not disturb each other's direction. */
export function groupTitle(label: string, each = 40, names = 4): string {
  const parts = labelParts(label, each).slice(0, names);
  return parts.length === 1 ? parts[0] : parts.map((part) => FIRST_ISOLATE + part + POP_ISOLATE).join(SEPARATOR);
}

export function stateLabel(node: number, state: number): string {
  const set = payload.labelSets[payload.labels[node]];
  return set?.[state] ?? `#${state}`;
}

export function memberLabel(member: number, state: number): string {
  const set = payload.labelSets[payload.members[member].labels];
  return set?.[state] ?? `#${state}`;
}

/** Whether a variable has labels rather than numbers. */
export function hasLabels(node: number, member: number | null | undefined): boolean {
  return (member === null || member === undefined ? payload.labels[node] : payload.members[member].labels) >= 0;
}

export function labelOf(node: number, member: number | null | undefined, state: number): string {
  return member === null || member === undefined ? stateLabel(node, state) : memberLabel(member, state);
}
