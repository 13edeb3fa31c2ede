/** SVG: elements of it, and a pen that writes an SVG image of what the painter draws. */
import type { Pen } from "./painter";

const NAMESPACE = "http://www.w3.org/2000/svg";

export function svgElement<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number | null>,
  ...children: (Node | string)[]
): SVGElementTagNameMap[K] {
  const made = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** An SVG image as a file. */
export function svgFile(image: SVGSVGElement): Blob {
  const text = new XMLSerializer().serializeToString(image);
  // What XML cannot say is not in a file.
  return new Blob([text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")], { type: "image/svg+xml" });
}

/** An SVG image as a PNG of twice its size. */
export async function pngFile(image: SVGSVGElement, width: number, height: number): Promise<Blob | null> {
  const url = URL.createObjectURL(svgFile(image));
  const drawn = new Image();
  await new Promise((done, failed) => {
    drawn.onload = done;
    drawn.onerror = failed;
    drawn.src = url;
  });
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * width, 2 * height];
  canvas.getContext("2d")?.drawImage(drawn, 0, 0, 2 * width, 2 * height);
  URL.revokeObjectURL(url);
  return new Promise((done) => canvas.toBlob(done));
}

const short = (value: number) => String(Math.round(value * 10) / 10);

class SvgPath {
  d = "";
  moveTo(x: number, y: number): void {
    this.d += `M${short(x)} ${short(y)}`;
  }
  lineTo(x: number, y: number): void {
    this.d += `L${short(x)} ${short(y)}`;
  }
  bezierCurveTo(...at: number[]): void {
    this.d += `C${at.map(short).join(" ")}`;
  }
  rect(x: number, y: number, width: number, height: number): void {
    this.d += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}z`;
  }
  /** A whole circle. */
  arc(x: number, y: number, radius: number): void {
    const r = Math.max(0.1, radius);
    this.d += `M${short(x + r)} ${short(y)}a${short(r)} ${short(r)} 0 1 0 ${short(-2 * r)} 0a${short(r)} ${short(r)} 0 1 0 ${short(2 * r)} 0`;
  }
}

const ANCHORS: Record<string, string> = { left: "start", start: "start", center: "middle", right: "end", end: "end" };

/** As much of a canvas as the painter uses. */
class SvgPen {
  fillStyle = "#000";
  strokeStyle = "#000";
  lineWidth = 1;
  lineCap = "butt";
  lineJoin = "miter";
  globalAlpha = 1;
  font = "12px sans-serif";
  textAlign = "left";
  textBaseline = "middle";
  direction = "ltr";
  readonly newPath = () => new SvgPath();
  private readonly ruler = document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;
  private path = new SvgPath();
  private dash: number[] = [];
  private at = { x: 0, y: 0, turn: 0 };

  constructor(private readonly image: SVGSVGElement) {}

  setLineDash(dash: number[]): void {
    this.dash = dash;
  }
  beginPath(): void {
    this.path = new SvgPath();
  }
  arc(x: number, y: number, radius: number): void {
    this.path.arc(x, y, radius);
  }
  fillRect(x: number, y: number, width: number, height: number): void {
    this.image.append(svgElement("rect", { x, y, width, height, fill: this.fillStyle }));
  }
  fill(path = this.path): void {
    this.image.append(svgElement("path", { d: path.d, fill: this.fillStyle, "fill-opacity": this.globalAlpha }));
  }
  stroke(path = this.path): void {
    this.image.append(
      svgElement("path", {
        d: path.d,
        fill: "none",
        stroke: this.strokeStyle,
        "stroke-width": short(this.lineWidth),
        "stroke-opacity": short(this.globalAlpha),
        "stroke-linecap": this.lineCap,
        "stroke-dasharray": this.dash.length > 0 ? this.dash.map(short).join(" ") : null,
      }),
    );
  }
  measureText(text: string): TextMetrics {
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }
  save(): void {}
  restore(): void {
    this.at = { x: 0, y: 0, turn: 0 };
  }
  translate(x: number, y: number): void {
    this.at = { ...this.at, x, y };
  }
  rotate(turn: number): void {
    this.at = { ...this.at, turn };
  }
  strokeText(text: string, x: number, y: number): void {
    this.text(text, x, y, { fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth, "stroke-linejoin": "round" });
  }
  fillText(text: string, x: number, y: number): void {
    this.text(text, x, y, { fill: this.fillStyle });
  }
  private text(text: string, x: number, y: number, look: Record<string, string | number>): void {
    const [, weight, size, family] = /^(\d+) ([\d.]+)px (.*)$/.exec(this.font) ?? ["", "400", "12", "sans-serif"];
    const { at } = this;
    this.image.append(
      svgElement(
        "text",
        {
          x: short(x),
          y: short(y),
          transform: `translate(${short(at.x)} ${short(at.y)}) rotate(${short((at.turn * 180) / Math.PI)})`,
          "font-family": family,
          "font-size": size,
          "font-weight": weight,
          "text-anchor": ANCHORS[this.textAlign],
          "dominant-baseline": "central",
          ...look,
        },
        text,
      ),
    );
  }
}

/** An SVG image of a drawing. */
export function drawn(width: number, height: number, draw: (pen: Pen) => void): SVGSVGElement {
  const image = svgElement("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
  draw(new SvgPen(image) as unknown as Pen);
  return image;
}
