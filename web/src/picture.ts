/** The picture: pan, zoom, hover and click, by mouse, touch and keyboard. */
import { element, find } from "./dom";
import type { Forest } from "./forest";
import { grouped, number, percent, title } from "./format";
import { layout, type Layout, type LayoutName } from "./layout";
import { CROWD, groupWidth } from "./labels";
import { paint, type Marks, type Transform } from "./painter";
import { payload } from "./payload";
import { drawn } from "./svg";
import { colours, onTheme } from "./theme";

const REACH = 14;
/** Beyond this many milliseconds a frame, gestures move a finished picture and draw a new one when they rest. */
const SLOW = 10;
/** How much more than the view a picture that is moved about shows, to every side. */
const MARGIN = 0.3;
/** Room around a picture without names. */
const BARE = { left: 24, right: 24, top: 22, bottom: 22 };
/** Room for names of groups beside a crowd, and above and below it. */
const BESIDE = 165;
const ABOVE = 52;
/** Characters of leaves' names that are tried, and the share of the room that the tree has at least. */
const NAME_LENGTHS = [32, 26, 21, 17];
const LEAST_OF_ROOM = 0.66;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class Picture {
  readonly canvas = find<HTMLCanvasElement>("canvas");
  private readonly context = this.canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
  private readonly tip = find("tip");
  private readonly marks: Marks = { selected: -1, hovered: -1, matches: new Set() };
  private plan: Layout;
  private name: LayoutName;
  private view: Transform = { k: 1, x: 0, y: 0 };
  private size = { width: 0, height: 0 };
  private ratio = 1;
  private frame = 0;
  private rest = 0;
  private cost = 0;
  private isMoving = false;
  /** A finished picture, larger than the view, and the transform and size it was drawn for. */
  private still: { canvas: HTMLCanvasElement; view: Transform } | null = null;
  private isFitted = true;
  onSelect: (node: number) => void = () => {};

  constructor(private readonly forest: Forest) {
    this.name = matchMedia("(max-width: 760px)").matches || forest.n < 8 ? "layered" : "radial";
    this.measure();
    this.plan = layout(forest, this.name, this.aspect());
    this.canvas.setAttribute(
      "aria-label",
      `Picture of the tree: ${grouped(forest.n)} variables. The outline has the same as text.`,
    );
    this.showName();
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    this.resize();
    onTheme(() => this.redraw());
    forest.onChange(() => this.relayout());
    this.listen();
  }

  setLayout(name: LayoutName): void {
    if (name === this.name) return;
    this.name = name;
    this.showName();
    this.isFitted = true;
    this.relayout();
  }

  private showName(): void {
    for (const name of ["radial", "layered"]) find(name).setAttribute("aria-pressed", String(name === this.name));
  }

  private relayout(): void {
    const before = this.plan;
    const next = layout(this.forest, this.name, this.aspect());
    const target = this.isFitted ? this.fitting(next) : this.view;
    if (calm.matches || next.visible.length > 1500 || before.visible.length > 1500) {
      this.plan = next;
      this.view = target;
      this.redraw();
      return;
    }
    // Nodes that appear come out of the place where their nearest ancestor was.
    const was = new Set(before.visible);
    const from = { x: next.x.slice(), y: next.y.slice() };
    for (const node of next.visible) {
      let up = node;
      while (up >= 0 && !was.has(up)) up = this.forest.parent[up];
      if (up >= 0) {
        from.x[node] = before.x[up];
        from.y[node] = before.y[up];
      }
    }
    const start = performance.now();
    const origin = this.view;
    const moving: Layout = { ...next, x: next.x.slice(), y: next.y.slice() };
    this.plan = moving;
    const step = (now: number) => {
      if (this.plan !== moving) return;
      const t = Math.min(1, (now - start) / 260);
      const eased = 1 - (1 - t) ** 3;
      for (const node of next.visible) {
        moving.x[node] = from.x[node] + (next.x[node] - from.x[node]) * eased;
        moving.y[node] = from.y[node] + (next.y[node] - from.y[node]) * eased;
      }
      const mix = (a: number, b: number) => a + (b - a) * eased;
      this.view = { k: mix(origin.k, target.k), x: mix(origin.x, target.x), y: mix(origin.y, target.y) };
      if (t < 1) requestAnimationFrame(step);
      else this.plan = next;
      this.draw();
    };
    requestAnimationFrame(step);
  }

  private measure(): boolean {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0 || height === 0) return false;
    this.ratio = Math.min(2, devicePixelRatio || 1);
    this.size = { width, height };
    return true;
  }

  private resize(): void {
    if (!this.measure()) return;
    this.canvas.width = Math.round(this.size.width * this.ratio);
    this.canvas.height = Math.round(this.size.height * this.ratio);
    if (this.isFitted) {
      this.plan = layout(this.forest, this.name, this.aspect());
      this.view = this.fitting(this.plan);
    }
    this.draw();
  }

  /** Room that names need around the picture. */
  private padding(isCrowd: boolean): { left: number; right: number; top: number; bottom: number } {
    const { width } = this.size;
    if (isCrowd && !this.forest.hasGroups) return BARE;
    const beside = Math.min(BESIDE, groupWidth(this.forest) + 30, (this.name === "layered" ? 0.4 : 0.24) * width);
    if (this.name === "layered") {
      const right = isCrowd ? beside + 20 : 190;
      return { left: Math.min(40, 0.06 * width), right: Math.min(right, 0.36 * width), top: 22, bottom: 22 };
    }
    if (!isCrowd) return BARE;
    return { left: beside, right: beside, top: ABOVE, bottom: ABOVE };
  }

  /** Whether the leaves stand too near each other for names when all are seen. */
  private isCrowd(): boolean {
    const { width, height } = this.size;
    const n = this.forest.visible().length;
    const way = this.name === "layered" ? height - 44 : 2.4 * (width - 60 + height - 60) * 0.62;
    return way / Math.max(1, 0.8 * n) < CROWD;
  }

  private aspect(): number {
    const { left, right, top, bottom } = this.padding(this.isCrowd());
    return Math.max(0.2, (this.size.width - left - right) / Math.max(1, this.size.height - top - bottom));
  }

  private fitting(plan: Layout): Transform {
    const { bounds, name, slot } = plan;
    const { width, height } = this.size;
    const [left, top, right, bottom] = bounds;
    const largest = (pad: typeof BARE) => {
      const across = (width - pad.left - pad.right) / Math.max(1, right - left);
      const down = (height - pad.top - pad.bottom) / Math.max(1, bottom - top);
      return Math.min(across, down, 1.6);
    };
    let pad = this.padding(false);
    let k = largest(pad);
    const isCrowd = k * slot < CROWD;
    if (isCrowd) k = largest((pad = this.padding(true)));
    const middle = { x: (pad.left + width - pad.right) / 2, y: (pad.top + height - pad.bottom) / 2 };
    if (name === "radial") {
      if (!isCrowd) k = this.withNames(plan, k, middle);
      return { k, ...middle };
    }
    return { k, x: middle.x - (k * (left + right)) / 2, y: middle.y - (k * (top + bottom)) / 2 };
  }

  /** The scale at which the names around a radial picture fit too; where they would make it much smaller, they are cut. */
  private withNames(plan: Layout, most: number, middle: { x: number; y: number }): number {
    const across = Math.min(middle.x, this.size.width - middle.x) - 6;
    const down = Math.min(middle.y, this.size.height - middle.y) - 6;
    const each = 0.58 * Math.min(13, Math.max(8.5, most * plan.slot * 0.7));
    const ends = [...plan.visible].filter((node) => this.forest.collapsed[node] === 1 || !this.forest.hasChildren(node));
    const names = ends.map((node) => title(node, NAME_LENGTHS[0]).length + (this.forest.collapsed[node] ? 8 : 0));
    let k = most;
    for (const nameLength of NAME_LENGTHS) {
      plan.nameLength = nameLength;
      k = most;
      ends.forEach((node, ix) => {
        const [cos, sin] = [Math.abs(Math.cos(plan.angle[node])), Math.abs(Math.sin(plan.angle[node]))];
        const length = 14 + each * Math.min(nameLength, names[ix]);
        const [x, y] = [Math.abs(plan.x[node]), Math.abs(plan.y[node])];
        if (x > 1) k = Math.min(k, (across - length * cos) / x);
        if (y > 1) k = Math.min(k, (down - length * sin) / y);
      });
      if (k >= LEAST_OF_ROOM * most) return k;
    }
    return Math.max(k, 0.5 * most);
  }

  fit(): void {
    this.isFitted = true;
    this.view = this.fitting(this.plan);
    this.redraw();
  }

  zoom(factor: number, x = this.size.width / 2, y = this.size.height / 2): void {
    this.isFitted = false;
    const least = Math.min(0.02, this.fitting(this.plan).k / 4);
    const k = Math.min(12, Math.max(least, this.view.k * factor));
    const ratio = k / this.view.k;
    this.view = { k, x: x - (x - this.view.x) * ratio, y: y - (y - this.view.y) * ratio };
    this.move();
  }

  pan(dx: number, dy: number): void {
    this.isFitted = false;
    this.view = { ...this.view, x: this.view.x + dx, y: this.view.y + dy };
    this.move();
  }

  /** Moves a node into view, near enough to be read. */
  show(node: number): void {
    const { k } = this.view;
    const [px, py] = [this.plan.x[node] * k + this.view.x, this.plan.y[node] * k + this.view.y];
    const { width, height } = this.size;
    if (!this.canvas.clientWidth) return;
    const isReadable = this.plan.slot * k >= 5;
    if (isReadable && px > 60 && py > 60 && px < width - 60 && py < height - 60) return this.redraw();
    this.isFitted = false;
    const near = isReadable ? k : 12 / this.plan.slot;
    this.view = { k: near, x: width / 2 - this.plan.x[node] * near, y: height / 2 - this.plan.y[node] * near };
    this.redraw();
  }

  mark(marks: Partial<Marks>): void {
    Object.assign(this.marks, marks);
    this.redraw();
  }

  /** Draws at the next frame. */
  redraw(): void {
    this.still = null;
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  private draw(): void {
    if (!this.canvas.clientWidth) return;
    const start = performance.now();
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    paint(this.context, this.size, this.forest, this.plan, this.view, colours(), this.marks);
    this.cost = performance.now() - start;
    this.still = null;
  }

  /** The picture as shown, as an SVG image. */
  image(): SVGSVGElement {
    const { width, height } = this.size;
    return drawn(width, height, (pen) =>
      paint(pen, this.size, this.forest, this.plan, this.view, colours(), { ...this.marks, hovered: -1 }),
    );
  }

  /** The picture as shown, in twice as many pixels. */
  bitmap(): HTMLCanvasElement {
    const { width, height } = this.size;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * width, 2 * height];
    const context = canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
    context.scale(2, 2);
    paint(context, this.size, this.forest, this.plan, this.view, colours(), { ...this.marks, hovered: -1 });
    return canvas;
  }

  /** A frame of a gesture. */
  private move(): void {
    this.isMoving = true;
    clearTimeout(this.rest);
    this.rest = window.setTimeout(() => {
      this.isMoving = false;
      this.redraw();
    }, 140);
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      if (this.cost < SLOW || !this.isMoving) this.draw();
      else this.drawStill();
    });
  }

  private drawStill(): void {
    const { width, height } = this.size;
    const margin = [MARGIN * width, MARGIN * height];
    let { still } = this;
    const placed = (still: { view: Transform }) => {
      const ratio = this.view.k / still.view.k;
      // Where the finished picture's corner comes to stand.
      return { ratio, x: this.view.x - (still.view.x + margin[0]) * ratio, y: this.view.y - (still.view.y + margin[1]) * ratio };
    };
    const covers = ({ ratio, x, y }: { ratio: number; x: number; y: number }) =>
      ratio < 2.5 &&
      x <= 0 &&
      y <= 0 &&
      x + (1 + 2 * MARGIN) * width * ratio >= width &&
      y + (1 + 2 * MARGIN) * height * ratio >= height;
    if (!still || !(covers(placed(still)) || this.showsAll(still.view, placed(still).ratio))) {
      const canvas = still?.canvas ?? document.createElement("canvas");
      canvas.width = Math.round(width * (1 + 2 * MARGIN) * this.ratio);
      canvas.height = Math.round(height * (1 + 2 * MARGIN) * this.ratio);
      const context = canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
      context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      const view = { ...this.view, x: this.view.x + margin[0], y: this.view.y + margin[1] };
      paint(
        context,
        { width: width + 2 * margin[0], height: height + 2 * margin[1] },
        this.forest,
        this.plan,
        view,
        colours(),
        this.marks,
      );
      still = this.still = { canvas, view: this.view };
    }
    const { ratio, x, y } = placed(still);
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.fillStyle = colours().background;
    this.context.fillRect(0, 0, width, height);
    this.context.imageSmoothingQuality = "low";
    this.context.drawImage(still.canvas, x, y, (width + 2 * margin[0]) * ratio, (height + 2 * margin[1]) * ratio);
  }

  /** Whether all of the tree is in the finished picture, which then may be moved and shrunk at will. */
  private showsAll(view: Transform, ratio: number): boolean {
    const [left, top, right, bottom] = this.plan.bounds;
    const { width, height } = this.size;
    const inside = (low: number, high: number, offset: number, size: number) =>
      low * view.k + offset > -MARGIN * size && high * view.k + offset < (1 + MARGIN) * size;
    return ratio < 2.5 && ratio > 0.4 && inside(left, right, view.x, width) && inside(top, bottom, view.y, height);
  }

  private nodeAt(px: number, py: number): number {
    const { k, x, y } = this.view;
    let [best, least] = [-1, REACH * REACH];
    for (const node of this.plan.visible) {
      const [dx, dy] = [this.plan.x[node] * k + x - px, this.plan.y[node] * k + y - py];
      const far = dx * dx + dy * dy;
      if (far < least) [best, least] = [node, far];
    }
    return best;
  }

  private hover(node: number, x = 0, y = 0): void {
    if (node !== this.marks.hovered) {
      this.marks.hovered = node;
      this.canvas.style.cursor = node >= 0 ? "pointer" : "grab";
      this.tip.hidden = node < 0;
      if (node >= 0) this.tip.replaceChildren(...tipText(this.forest, node));
      if (this.cost < SLOW) this.redraw();
    }
    if (node >= 0) {
      const { width, height } = this.size;
      this.tip.style.left = `${Math.min(x + 14, Math.max(8, width - this.tip.offsetWidth - 8))}px`;
      this.tip.style.top = `${y + 18 + this.tip.offsetHeight > height ? y - this.tip.offsetHeight - 10 : y + 18}px`;
    }
  }

  private listen(): void {
    const { canvas } = this;
    const pointers = new Map<number, { x: number; y: number }>();
    let travelled = 0;
    const at = (event: MouseEvent) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, at(event));
      travelled = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const now = at(event);
      const last = pointers.get(event.pointerId);
      if (!last) {
        if (event.pointerType === "mouse") this.hover(this.nodeAt(now.x, now.y), now.x, now.y);
        return;
      }
      travelled += Math.hypot(now.x - last.x, now.y - last.y);
      if (pointers.size === 1) {
        if (travelled > 4) this.pan(now.x - last.x, now.y - last.y);
      } else {
        const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1] ?? last;
        const spread = (point: { x: number; y: number }) => Math.max(1, Math.hypot(point.x - other.x, point.y - other.y));
        this.pan((now.x - last.x) / 2, (now.y - last.y) / 2);
        this.zoom(spread(now) / spread(last), (now.x + other.x) / 2, (now.y + other.y) / 2);
      }
      pointers.set(event.pointerId, now);
      this.hover(-1);
    });
    const up = (event: PointerEvent) => {
      const isClick = pointers.delete(event.pointerId) && travelled <= 4 && event.type === "pointerup";
      if (!isClick) return;
      const { x, y } = at(event);
      const node = this.nodeAt(x, y);
      if (node >= 0) this.onSelect(node);
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => this.hover(-1));
    canvas.addEventListener("dblclick", (event) => {
      const { x, y } = at(event);
      const node = this.nodeAt(x, y);
      if (node >= 0) this.forest.toggle(node);
      else this.zoom(1.6, x, y);
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const { x, y } = at(event);
        const unit = event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? 400 : 1;
        this.zoom(Math.exp(-event.deltaY * unit * (event.ctrlKey ? 0.01 : 0.0016)), x, y);
      },
      { passive: false },
    );
    const keys: Record<string, () => void> = {
      ArrowLeft: () => this.pan(60, 0),
      ArrowRight: () => this.pan(-60, 0),
      ArrowUp: () => this.pan(0, 60),
      ArrowDown: () => this.pan(0, -60),
      "+": () => this.zoom(1.3),
      "=": () => this.zoom(1.3),
      "-": () => this.zoom(1 / 1.3),
      "0": () => this.fit(),
    };
    canvas.addEventListener("keydown", (event) => {
      const act = keys[event.key];
      if (!act || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      act();
    });
  }
}

function tipText(forest: Forest, node: number): Node[] {
  const parts: Node[] = [element("strong", {}, title(node, 60))];
  const facts: string[] = [];
  if (!payload.observed[node]) facts.push(payload.names[node].slice(0, 40), `${grouped(forest.leaves[node])} below`);
  const marginal = payload.marginals[node];
  if (payload.family === "discrete" && payload.labels[node] >= 0 && marginal.length === 2) facts.push(`${percent(marginal[1])}`);
  const parent = forest.parent[node];
  if (parent >= 0) {
    const edge = forest.edge(node, parent);
    const [information, length, support] = [payload.information[edge], payload.lengths[edge], payload.supports[edge]];
    if (information !== null) facts.push(`${number(information)} nats with its parent`);
    else if (length !== null) facts.push(`distance ${number(length)}`);
    if (support !== null) facts.push(`support ${percent(support)}`);
  }
  parts.push(element("span", {}, facts.join(" · ")));
  return parts;
}
