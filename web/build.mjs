// Builds the templates of the pages: HTML files with style and program in them, and places for the title and the data.
// `--check` builds into memory and compares with the files that are kept.
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = new URL("./", import.meta.url);
/** The pages, and where their templates are kept. */
const PAGES = [
  { source: "src", program: "src/main.ts", target: "template.html" },
  { source: "src/clusters", program: "src/clusters/main.ts", target: "clusters.html" },
];
const targetOf = ({ target }) => new URL(`../crates/latentree/src/report/page/${target}`, folder);
const read = (name) => readFile(new URL(name, folder), "utf8");

async function bundle(entry) {
  const options = { bundle: true, minify: true, charset: "utf8", target: "es2022", write: false, legalComments: "none" };
  const result = await build({ ...options, absWorkingDir: fileURLToPath(folder), entryPoints: [entry], format: "iife" });
  return result.outputFiles[0].text.trim();
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** A template's text. */
export async function template(page = PAGES[0]) {
  const sources = [read(`${page.source}/page.html`), bundle(`${page.source}/style.css`), bundle(page.program)];
  const [html, style, program] = await Promise.all(sources);
  if (/<\/script|<!--/i.test(program) || /<\/style/i.test(style)) throw new Error("the bundle would end its own element");
  // Only this program and this style run, whatever else gets into the page.
  const policy = `default-src 'none'; img-src data: blob:; style-src ${hash(style)}; script-src ${hash(program)}; base-uri 'none'; form-action 'none'`;
  const parts = { __POLICY__: policy, __STYLE__: style, __PROGRAM__: program };
  return html.replace(/__(POLICY|STYLE|PROGRAM)__/g, (place) => parts[place]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const page of PAGES) {
    const [built, target] = [await template(page), targetOf(page)];
    if (process.argv.includes("--check")) {
      if ((await readFile(target, "utf8")) !== built) {
        console.error(`${page.target} is not what web/ builds; run npm run build in web/ and commit it`);
        process.exit(1);
      }
      console.log(`${page.target} is what web/ builds`);
    } else {
      await writeFile(target, built);
      console.log(`${fileURLToPath(target)}: ${built.length} characters`);
    }
  }
}
