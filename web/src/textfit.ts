/** Text that fits a width. */
const ruler = document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;
const SLACK = 1;

export interface Font {
  size: number;
  weight: number;
}

export function widthOf(text: string, { size, weight }: Font): number {
  ruler.font = `${weight} ${size}px system-ui, sans-serif`;
  return ruler.measureText(text).width;
}

/** As much of a text as fits. */
export function fitted(text: string, width: number, font: Font): string {
  if (text.length <= 400 && widthOf(text, font) <= width) return text;
  const characters = Array.from(text.slice(0, 400));
  let [low, high] = [0, characters.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (widthOf(`${characters.slice(0, middle).join("")}…`, font) <= width) low = middle;
    else high = middle;
  }
  return low === 0 ? "" : `${characters.slice(0, low).join("").replace(/[\s,;:.]+$/, "")}…`;
}

/** Words in lines, as many as fit, and how many more there are. */
export function flow(words: string[], total: number, width: number, most: number, font: Font): string[] {
  const lines: string[] = [];
  let line = "";
  let told = 0;
  const more = (told: number) => (told < total ? ` +${(total - told).toLocaleString("en-GB")}` : "");
  for (const word of words) {
    const longer = line ? `${line}, ${word}` : word;
    const isLast = lines.length === most - 1;
    const end = isLast ? more(told + 1) : told + 1 < total ? "," : "";
    if (widthOf(longer + end, font) + SLACK <= width) line = longer;
    else if (isLast || most <= 0) break;
    else if (line) {
      lines.push(`${line},`);
      const isNowLast = lines.length === most - 1;
      line = fitted(word, width - (isNowLast ? widthOf(more(told + 1), font) : 8) - SLACK, font);
      if (!line) break;
    } else line = fitted(word, width - 40, font);
    told++;
  }
  if (line || told < total) lines.push(`${line}${more(told)}`.trim());
  return lines.filter(Boolean).slice(0, Math.max(0, most));
}
