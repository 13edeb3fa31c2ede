// Pages made by the program itself, in a temporary folder.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const program = process.env.LATENTREE ?? join(root, "target/release/latentree");
export const folder = mkdtempSync(join(tmpdir(), "latentree-page-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

export function run(...args) {
  return execFileSync(program, args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

export function write(name, content) {
  writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  return join(folder, name);
}

/** The clinic example: its true model and its rows. */
export function clinicPage() {
  run(
    "report",
    join(root, "examples/clinic.truth.json"),
    join(root, "examples/clinic.csv"),
    "--title",
    "Clinic",
    "-o",
    "clinic.html",
  );
  return join(folder, "clinic.html");
}

/** The clinic example learned from its rows, with the support of every split. */
export function learnedClinicPage() {
  run("learn", join(root, "examples/clinic.csv"), "--bootstrap", "50", "-o", "learned.json");
  run("report", "learned.json", join(root, "examples/clinic.csv"), "--title", "Clinic", "-o", "learned.html");
  return join(folder, "learned.html");
}

/** A random tree of 200 observed variables. */
export function largePage() {
  run("simulate", "--shape", "random", "--observed", "200", "--seed", "2", "--model", "large.json");
  run("report", "large.json", "-o", "large.html");
  return join(folder, "large.html");
}

/** A random tree of over 20,000 nodes. */
export function bigPage() {
  run("simulate", "--shape", "random", "--observed", "12000", "--degree", "5", "--seed", "1", "--model", "big.json");
  run("report", "big.json", "-o", "big.html");
  return join(folder, "big.html");
}

/** A model with these names of its two hidden nodes and six leaves, and data for it. */
export function namedPage(file, names, label = "1") {
  const hidden = names.slice(0, 2);
  const leaves = names.slice(2, 8);
  const nodes = [
    ...hidden.map((name) => ({ name, observed: false, kind: "categorical", states: ["0", "1"] })),
    ...leaves.map((name) => ({ name, observed: true, kind: "binary", states: ["0", label] })),
  ];
  const edges = [
    { source: hidden[0], target: hidden[1], distance: 0.3 },
    ...leaves.map((target, ix) => ({ source: hidden[ix % 2], target, distance: 0.5 })),
  ];
  const given = edges.map(({ target }) => [
    target,
    {
      given: [
        [0.9, 0.1],
        [0.2, 0.8],
      ],
    },
  ]);
  // An assignment would lose a node that is called __proto__.
  const tables = Object.fromEntries([[hidden[0], { prior: [0.4, 0.6] }], ...given]);
  write(`${file}.json`, { format: "latentree", version: 1, kind: "latent-tree", nodes, edges, root: hidden[0], tables });
  const field = (text) => `"${text.replaceAll('"', '""')}"`;
  const rows = Array.from({ length: 40 }, (_, row) => leaves.map((_, ix) => field((row >> ix) % 2 ? label : "0")).join(","));
  write(`${file}.csv`, [leaves.map(field).join(","), ...rows].join("\n") + "\n");
  return { model: `${file}.json`, data: `${file}.csv`, leaves, hidden };
}
