/** Files of the model in other programs' formats, and the picture. */
import { announce, element, find } from "./dom";
import { bytes } from "./format";
import { payload, readExports, type Export } from "./payload";

const SAYS: Record<string, string> = {
  json: "Model (JSON)",
  newick: "Newick",
  text: "Text",
  dot: "Graphviz",
  graphml: "GraphML",
  bif: "BIF",
  xmlbif: "XMLBIF",
};

function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = element("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

async function unpack(packed: string): Promise<Blob> {
  const binary = atob(packed);
  const content = new Uint8Array(binary.length);
  for (let ix = 0; ix < binary.length; ix++) content[ix] = binary.charCodeAt(ix);
  return new Response(new Blob([content]).stream().pipeThrough(new DecompressionStream("gzip"))).blob();
}

/** What is shown: an image to save, or a table. */
export interface Shown {
  svg: () => Blob;
  png: () => Promise<Blob | null>;
  tsv: (() => string) | null;
}

export function startDownloads(shown: Shown): void {
  const button = find("downloads-button");
  const menu = find("downloads");
  const stem =
    payload.title
      .replace(/\.(json|bif|xmlbif|nwk|newick|tree|gz|zst)$/g, "")
      .replace(/[^\p{L}\p{N}._-]+/gu, "-")
      .slice(0, 60) || "latentree";
  const show = (isOpen: boolean) => {
    menu.hidden = !isOpen;
    button.setAttribute("aria-expanded", String(isOpen));
  };
  const item = (text: string, note: string, act: (() => void) | null, problem?: string) =>
    element(
      "button",
      { type: "button", disabled: act === null, title: problem, click: () => (show(false), act?.()) },
      element("span", {}, text),
      element("small", {}, note),
    );
  const ofExport = (it: Export) => {
    const { packed } = it;
    const act = packed
      ? async () => {
          const blob = await unpack(packed);
          save(blob, `${stem}.${it.ending}`);
          announce(`${SAYS[it.format]} saved`);
        }
      : null;
    return item(SAYS[it.format] ?? it.format, packed ? bytes(it.bytes) : "not here", act, it.problem ?? undefined);
  };
  const fill = () => {
    if (menu.childElementCount > 0) return;
    const { tsv } = shown;
    const table = (text: () => string) => save(new Blob([text()], { type: "text/tab-separated-values" }), `${stem}.tsv`);
    menu.append(
      ...readExports().map(ofExport),
      item("Picture as shown", "SVG", () => save(shown.svg(), `${stem}.svg`)),
      item("Picture as shown", "PNG", async () => {
        const blob = await shown.png();
        if (blob) save(blob, `${stem}.png`);
      }),
      ...(tsv ? [item("Table of groups", "TSV", () => table(tsv))] : []),
      item("Print …", "PDF", () => print()),
    );
  };
  button.addEventListener("click", () => {
    fill();
    show(menu.hidden);
    if (!menu.hidden) menu.querySelector("button")?.focus();
  });
  menu.addEventListener("keydown", (event) => {
    const buttons = [...menu.querySelectorAll<HTMLButtonElement>("button:not(:disabled)")];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    if (event.key === "ArrowDown") buttons[(at + 1) % buttons.length]?.focus();
    else if (event.key === "ArrowUp") buttons[(at + buttons.length - 1) % buttons.length]?.focus();
    else if (event.key === "Escape") {
      show(false);
      button.focus();
    } else return;
    event.preventDefault();
  });
  for (const kind of ["pointerdown", "focusin"]) {
    document.addEventListener(kind, (event) => {
      if (!menu.hidden && !(event.target as HTMLElement).closest?.(".actions")) show(false);
    });
  }
}
