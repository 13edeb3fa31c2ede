/** Room for labels: rectangles, turned or not, of which none may cover another. */
interface Box {
  /** The middle, half the sizes, and the direction. */
  x: number;
  y: number;
  long: number;
  thick: number;
  cos: number;
  sin: number;
}

const CELL = 48;

export class Room {
  private readonly cells = new Map<number, Box[]>();

  constructor(
    private readonly width: number,
    private readonly height: number,
  ) {}

  /** Takes the room of a line of text that begins at a point, unless some of it is taken or outside. */
  take(x: number, y: number, length: number, angle: number, thick: number): boolean {
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const box = { x: x + (length / 2) * cos, y: y + (length / 2) * sin, long: length / 2 + 2, thick: thick / 2, cos, sin };
    const [w, h] = [extent(box, 1, 0), extent(box, 0, 1)];
    if (box.x - w < 0 || box.y - h < 0 || box.x + w > this.width || box.y + h > this.height) return false;
    const near: Box[][] = [];
    for (let row = Math.floor((box.y - h) / CELL); row <= Math.floor((box.y + h) / CELL); row++) {
      for (let column = Math.floor((box.x - w) / CELL); column <= Math.floor((box.x + w) / CELL); column++) {
        const key = row * 4096 + column;
        let cell = this.cells.get(key);
        if (!cell) this.cells.set(key, (cell = []));
        else if (cell.some((other) => overlap(box, other))) return false;
        near.push(cell);
      }
    }
    for (const cell of near) cell.push(box);
    return true;
  }
}

/** Half of what a box takes up along a direction. */
const extent = (box: Box, x: number, y: number) =>
  box.long * Math.abs(box.cos * x + box.sin * y) + box.thick * Math.abs(box.cos * y - box.sin * x);

/** Two boxes are apart if they are along a side of one of them. */
function overlap(a: Box, b: Box): boolean {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  for (const [x, y] of [
    [a.cos, a.sin],
    [-a.sin, a.cos],
    [b.cos, b.sin],
    [-b.sin, b.cos],
  ]) {
    if (Math.abs(dx * x + dy * y) >= extent(a, x, y) + extent(b, x, y)) return false;
  }
  return true;
}
