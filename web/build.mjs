// Builds the page's template: one HTML file with style and program in it, and places for the title and the data.
// `--check` builds into memory and compares with the file that is kept.
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = new URL("./", import.meta.url);
const target = new URL("../crates/latentree/src/report/page/template.html", folder);
const read = (name) => readFile(new URL(name, folder), "utf8");

async function bundle(entry) {
  const options = { bundle: true, minify: true, charset: "utf8", target: "es2022", write: false, legalComments: "none" };
  const result = await build({ ...options, absWorkingDir: fileURLToPath(folder), entryPoints: [entry], format: "iife" });
  return result.outputFiles[0].text.trim();
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** The template's text. */
export async function template() {
  const [html, style, program] = await Promise.all([read("src/page.html"), bundle("src/style.css"), bundle("src/main.ts")]);
  if (/<\/script|<!--/i.test(program) || /<\/style/i.test(style)) throw new Error("the bundle would end its own element");
  // Only this program and this style run, whatever else gets into the page.
  const policy = `default-src 'none'; img-src data: blob:; style-src ${hash(style)}; script-src ${hash(program)}; base-uri 'none'; form-action 'none'`;
  const parts = { __POLICY__: policy, __STYLE__: style, __PROGRAM__: program };
  return html.replace(/__(POLICY|STYLE|PROGRAM)__/g, (place) => parts[place]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const built = await template();
  if (process.argv.includes("--check")) {
    if ((await readFile(target, "utf8")) !== built) {
      console.error("template.html is not what web/ builds; run npm run build in web/ and commit it");
      process.exit(1);
    }
    console.log("template.html is what web/ builds");
  } else {
    await writeFile(target, built);
    console.log(`${fileURLToPath(target)}: ${built.length} characters`);
  }
}
