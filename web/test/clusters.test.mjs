// The pages of mixtures, topics and hierarchies in a browser.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { launch, open } from "./browser.mjs";
import { folder, run, write } from "./pages.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** Documents about two topics, with names that look like markup. */
function documents() {
  const names = ["<img src=x onerror=alert(1)>", "goal", "team", "vote", "party", "law"];
  const rows = Array.from({ length: 120 }, (_, row) =>
    names.map((_, word) => (word < 3 === (row % 3 > 0) ? 1 + ((row * 7 + word * 5) % 4) : (row + word) % 11 === 0 ? 1 : 0)),
  );
  return write("docs.csv", `${names.join(",")}\n${rows.map((row) => row.join(",")).join("\n")}\n`);
}

async function on(file, act) {
  const { page, context, problems } = await open(browser, join(folder, file));
  await act(page);
  assert.deepEqual(problems, []);
  await context.close();
}

const drawn = (page, id) =>
  page.evaluate((id) => {
    const canvas = document.getElementById(id);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const seen = new Set();
    for (let at = 0; at < data.length; at += 4) seen.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
    return seen.size;
  }, id);

describe("pages of groups", () => {
  before(() => {
    const data = documents();
    run("mixture", data, "-k", "2", "--family", "single-topic", "-o", "star.json");
    run("mixture", data, "-k", "2", "--family", "lda", "-o", "topics.json");
    run("cluster", data, "--leaves", "3", "--family", "single-topic", "-o", "tree.json");
    for (const model of ["star", "topics", "tree"]) run("report", `${model}.json`, data, "--title", "<i>Docs", "-o", `${model}.html`);
  });

  test("a mixture shows its components, their features and the rows, and names stay text", async () => {
    await on("star.html", async (page) => {
      assert.equal(await page.textContent("#title"), "<i>Docs");
      assert.equal(await page.locator("#groups > .group").count(), 2);
      assert.match(await page.textContent("#groups"), /<img src=x onerror=alert\(1\)>/);
      assert.equal(await page.locator("#groups img").count(), 0);
      await page.locator("#groups summary").first().click();
      assert.ok((await page.locator("#groups details[open] .frequent tbody tr").count()) >= 3);
      assert.ok((await drawn(page, "rows")) > 4);
      assert.equal(await page.isVisible("#shares"), false);
      await page.click("#theme");
      assert.equal(await page.locator("#groups details[open]").count(), 1);
    });
  });

  test("topics show their shares document by document", async () => {
    await on("topics.html", async (page) => {
      assert.ok((await drawn(page, "shares")) > 2);
      await page.hover("#shares", { position: { x: 200, y: 50 } });
      assert.match(await page.textContent("#shares-pointed"), /document \d+: \d \d+/);
    });
  });

  test("models of words have a table of topics with coherence and the topics around them", async () => {
    const head = (page) => page.locator("#topics thead th").allTextContents();
    for (const [file, first] of [["star.html", "Component"], ["topics.html", "Topic"]])
      await on(file, async (page) => {
        assert.deepEqual(await head(page), [first, "Share", "NPMI", "C_V", "Words"]);
        assert.equal(await page.locator("#topics tbody tr").count(), 2);
        const npmi = await page.locator("#topics tbody tr td:nth-child(3)").allTextContents();
        assert.ok(npmi.every((it) => Math.abs(Number(it)) <= 1 && it !== ""));
        assert.match(await page.textContent("#topics-note"), /^Mean NPMI -?\d\.\d\d, C_V \d\.\d\d, diversity \d\.\d\d\.$/);
        assert.match(await page.textContent("#topics"), /<img src=x onerror=alert\(1\)>/);
        assert.equal(await page.locator("#topics img").count(), 0);
      });
    await on("tree.html", async (page) => {
      assert.deepEqual(await head(page), ["Cluster", "Inside", "Share", "NPMI", "C_V", "Words"]);
      assert.equal(await page.locator("#topics tbody tr").count(), 4);
    });
    run("report", "star.json", "-o", "nodata.html");
    await on("nodata.html", async (page) => {
      assert.deepEqual(await head(page), ["Component", "Share", "Words"]);
      assert.match(await page.textContent("#topics-note"), /needs data/);
    });
  });

  test("a mixture that is not of words has no table of topics", async () => {
    const rows = Array.from({ length: 60 }, (_, row) => [row % 2, row % 2, (row >> 1) % 2].join(","));
    const data = write("binary.csv", `a,b,c\n${rows.join("\n")}\n`);
    run("mixture", data, "-k", "2", "--family", "bernoulli", "-o", "binary.json");
    run("report", "binary.json", data, "-o", "binary.html");
    await on("binary.html", async (page) => assert.equal(await page.isVisible("#topics-section"), false));
  });

  test("the tree of words lists the words and the coherence of its topics", async () => {
    const themes = [["goal", "team", "match", "<b>ball"], ["vote", "party", "law", "court"], ["rain", "wind", "storm", "cloud"]];
    const lines = Array.from({ length: 300 }, (_, row) =>
      themes.flatMap((words, theme) => words.filter((_, word) => (row % 3 === theme) !== ((row * 13 + word * 7 + theme) % 10 === 0))),
    );
    const cells = lines.map((words) => themes.flat().map((word) => Number(words.includes(word))).join(","));
    const data = write("words.csv", `${themes.flat().join(",")}\n${cells.join("\n")}\n`);
    const texts = write("texts.txt", lines.map((words, row) => `# ${row}\n${words.map((it) => it.replace("<b>", "")).join(" ")}\n`).join(""));
    run("topics", texts, "--split", "^# ", "--stop", "none", "--min-df", "1", "-o", "words.json");
    run("report", "words.json", texts, "--text", "--split", "^# ", "--stop", "none", "--min-df", "1", "-o", "words.html");
    await on("words.html", async (page) => {
      await page.click("#view-table");
      const heads = await page.locator("#table thead th button").allTextContents();
      assert.deepEqual(heads.slice(-3), ["NPMI", "C_V", "Words of the topic"]);
      const npmi = await page.locator("#table tbody tr td:nth-last-child(3)").allTextContents();
      assert.ok(npmi.some((it) => Number(it) > 0.3));
      assert.match(await page.textContent("#table tbody"), /goal|vote|rain/);
    });
    run("learn", data, "--structure", "clnj", "-o", "notwords.json");
    run("report", "notwords.json", data, "-o", "notwords.html");
    await on("notwords.html", async (page) => {
      await page.click("#view-table");
      assert.ok(!(await page.textContent("#table thead")).includes("NPMI"));
    });
  });

  test("a hierarchy opens and closes", async () => {
    await on("tree.html", async (page) => {
      const visible = () => page.locator("#groups .group:visible").count();
      await page.click("#close-all");
      const closed = await visible();
      await page.click("#open-all");
      assert.ok((await visible()) > closed);
      assert.match(await page.textContent("#groups"), /1\.1.*rows/s);
    });
  });
});
