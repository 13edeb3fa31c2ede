/** Rows by group and feature, and the shares of topics in documents, drawn on canvases. */
import { find } from "../dom";
import { isDark } from "../theme";
import { noun, percent } from "./groups";
import { payload, type Sample } from "./payload";

const LABELS = 118;
const MARGIN = 92;
const CELL = 16;
/** Height of both pictures, about. */
const HEIGHT = 640;

interface Frame {
  context: CanvasRenderingContext2D;
  ink: string;
  paper: string;
}

function frame(canvas: HTMLCanvasElement, width: number, height: number): Frame {
  const scale = Math.min(2, window.devicePixelRatio || 1);
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.setProperty("width", `${width}px`);
  canvas.style.setProperty("height", `${height}px`);
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  context.scale(scale, scale);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  return { context, ink: isDark() ? "#e8e6e1" : "#20262b", paper: isDark() ? "#1d2226" : "#f6f4ef" };
}

/** A text cut to a width. */
function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  const letters = Array.from(text);
  while (letters.length > 1 && context.measureText(`${letters.join("")}…`).width > width) letters.pop();
  return `${letters.join("")}…`;
}

/** Runs of rows of the same group: first row, end, group. */
function runs(sample: Sample): [number, number, number][] {
  const found: [number, number, number][] = [];
  sample.groups.forEach((group, row) => {
    const last = found[found.length - 1];
    if (last && last[2] === group) last[1] = row + 1;
    else found.push([row, row + 1, group]);
  });
  return found;
}

function nameGroups(at: Frame, sample: Sample, top: number, height: number, colour: (group: number) => string): void {
  const { context, ink } = at;
  const n = sample.groups.length;
  let below = -Infinity;
  for (const [first, end, group] of runs(sample)) {
    const [y0, y1] = [top + (height * first) / n, top + (height * end) / n];
    context.fillStyle = colour(group);
    context.fillRect(MARGIN - 8, y0, 5, Math.max(1, y1 - y0 - 0.5));
    const y = (y0 + y1) / 2;
    if (y - below < 13) continue;
    below = y;
    context.fillStyle = ink;
    context.textAlign = "right";
    context.fillText(fitted(context, payload.groups[group].name, MARGIN - 16), MARGIN - 12, y);
  }
}

export function drawRows(colour: (group: number) => string): void {
  const sample = payload.sample;
  if (!sample || sample.rows.length === 0 || sample.features.length === 0) return;
  const n = sample.rows.length;
  const rowHeight = Math.max(0.32, Math.min(14, HEIGHT / n));
  const height = rowHeight * n;
  const canvas = find<HTMLCanvasElement>("rows");
  const at = frame(canvas, MARGIN + CELL * sample.features.length + 60, LABELS + height + 4);
  const { context, ink, paper } = at;
  sample.features.forEach((feature, ix) => {
    context.save();
    context.translate(MARGIN + CELL * (ix + 0.6), LABELS - 6);
    context.rotate(-Math.PI / 3.2);
    context.fillStyle = ink;
    context.textAlign = "left";
    context.fillText(fitted(context, payload.features[feature].name, LABELS + 6), 0, 0);
    context.restore();
  });
  context.fillStyle = paper;
  context.fillRect(MARGIN, LABELS, CELL * sample.features.length, height);
  sample.cells.forEach((cells, row) => {
    context.fillStyle = colour(sample.groups[row]);
    for (let ix = 0; ix < cells.length; ix += 1) {
      const strength = (cells.charCodeAt(ix) - 48) / 9;
      if (strength <= 0) continue;
      context.globalAlpha = strength;
      context.fillRect(MARGIN + CELL * ix + 0.5, LABELS + rowHeight * row, CELL - 1, Math.max(rowHeight, 0.5));
    }
  });
  context.globalAlpha = 1;
  nameGroups(at, sample, LABELS, height, colour);
  canvas.setAttribute("aria-label", `${n} rows by ${noun}, ${sample.features.length} features`);
  canvas.onpointermove = (event) => {
    const [ix, row] = [Math.floor((event.offsetX - MARGIN) / CELL), Math.floor((event.offsetY - LABELS) / rowHeight)];
    const feature = payload.features[sample.features[ix]];
    const isThere = feature && row >= 0 && row < n;
    const value = isThere ? Number(sample.cells[row][ix]) : 0;
    const has = feature?.isNumber ? (value > 5 ? "high" : value < 4 ? "low" : "near the mean") : value > 0 ? "yes" : "no";
    find("rows-pointed").textContent = isThere
      ? `row ${sample.rows[row]}, ${noun} ${payload.groups[sample.groups[row]].name}, ${feature.name}: ${has}`
      : "";
  };
}

export function drawShares(colour: (group: number) => string): void {
  const sample = payload.sample;
  if (!sample || sample.shares.length === 0) return;
  const n = sample.rows.length;
  const rowHeight = Math.max(0.32, Math.min(14, HEIGHT / n));
  const [width, height] = [560, rowHeight * n];
  const canvas = find<HTMLCanvasElement>("shares");
  const at = frame(canvas, MARGIN + width + 4, height + 8);
  sample.shares.forEach((shares, row) => {
    let x = MARGIN;
    const total = shares.reduce((sum, share) => sum + share, 0) || 1;
    shares.forEach((share, topic) => {
      at.context.fillStyle = colour(topic);
      at.context.fillRect(x, 4 + rowHeight * row, (width * share) / total, Math.max(rowHeight, 0.5));
      x += (width * share) / total;
    });
  });
  nameGroups(at, sample, 4, height, colour);
  canvas.setAttribute("aria-label", `Shares of ${payload.groups.length} topics in ${n} documents`);
  canvas.onpointermove = (event) => {
    const row = Math.floor((event.offsetY - 4) / rowHeight);
    const shares = sample.shares[row];
    const leading = (shares ?? [])
      .map((share, topic) => [share, topic])
      .sort(([a], [b]) => b - a)
      .slice(0, 3)
      .filter(([share]) => share > 0)
      .map(([share, topic]) => `${payload.groups[topic].name} ${percent(share / 100)}`);
    find("shares-pointed").textContent = shares ? `document ${sample.rows[row]}: ${leading.join(", ")}` : "";
  };
}
