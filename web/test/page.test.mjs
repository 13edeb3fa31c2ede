// The page in a browser: from disk, without a network, as a reader uses it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { launch, open } from "./browser.mjs";
import { bigPage, clinicPage, folder, largePage, learnedClinicPage, namedPage, run, write } from "./pages.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** Runs a test on a page of its own, which must say nothing on the console and ask for nothing. */
async function on(file, act, options) {
  const { page, context, problems } = await open(browser, file, options);
  await act(page);
  assert.deepEqual(problems, []);
  await context.close();
}

/** Distinct colours in the picture: a picture that is drawn has many. */
const nColours = (page) =>
  page.evaluate(() => {
    const canvas = document.getElementById("canvas");
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    const seen = new Set();
    for (let at = 0; at < data.length; at += 4) seen.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
    return seen.size;
  });

const picture = (page) => page.evaluate(() => document.getElementById("canvas").toDataURL());
const settle = (page) => page.waitForTimeout(250);
const choose = async (page, text) => {
  await page.fill("#search", text);
  await page.press("#search", "Enter");
};

const saved = async (page, note) => {
  await page.click("#downloads-button");
  const waiting = page.waitForEvent("download");
  await page.click(`#downloads button:has-text("Picture as shown"):has-text("${note}")`);
  return (await waiting).path();
};
const savedText = async (page, note) => readFileSync(await saved(page, note), "utf8");

/** Labels of an SVG image that cover each other, by the corners of their turned boxes; a little of a line's height is air. */
function overlaps(text) {
  const image = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  document.body.append(image);
  const boxes = [...image.querySelectorAll("text")]
    .filter((it) => it.getAttribute("fill") !== "none")
    .map((it) => {
      const box = it.getBBox();
      const air = 0.2 * box.height;
      const matrix = it.getCTM();
      const corner = (x, y) => new DOMPoint(x, y).matrixTransform(matrix);
      const [top, bottom] = [box.y + air, box.y + box.height - air];
      const corners = [corner(box.x, top), corner(box.x + box.width, top), corner(box.x + box.width, bottom), corner(box.x, bottom)];
      return { text: it.textContent, corners };
    });
  image.remove();
  const apart = (a, b) =>
    [a, b].some(({ corners: [p, q, , r] }) =>
      [q, r].some((end) => {
        const axis = [end.x - p.x, end.y - p.y];
        const along = (box) => box.corners.map((it) => it.x * axis[0] + it.y * axis[1]);
        return Math.max(...along(a)) <= Math.min(...along(b)) || Math.max(...along(b)) <= Math.min(...along(a));
      }),
    );
  const covered = [];
  boxes.forEach((a, ix) => boxes.slice(ix + 1).forEach((b) => apart(a, b) || covered.push(`${a.text} / ${b.text}`)));
  return { labels: boxes.length, covered };
}

describe("the clinic example", () => {
  let file;
  before(() => {
    file = clinicPage();
  });

  test("opens with the tree, its fit and its hidden variables", () =>
    on(file, async (page) => {
      assert.equal(await page.textContent("#title"), "Clinic");
      assert.equal(await page.textContent("#subtitle"), "40 observed · 12 hidden · 5,000 rows");
      assert.ok((await nColours(page)) > 50);
      const overview = await page.textContent("#panel");
      for (const text of [
        "Log-likelihood",
        "−61,487.92",
        "Free parameters",
        "123",
        "Badly explained pairs",
        "Hidden variables",
      ]) {
        assert.ok(overview.includes(text), text);
      }
      assert.equal(await page.locator(".hidden-table tbody tr").count(), 12);
      assert.ok(await page.title(), "Clinic · latentree");
    }));

  test("finds a word, shows its node, and reads its profile", () =>
    on(file, async (page) => {
      await page.keyboard.press("/");
      await page.keyboard.type("DIABETES");
      assert.ok((await page.locator("#results [role=option]").count()) >= 1);
      assert.match(await page.textContent("#live"), /results?$/);
      assert.equal(await page.getAttribute("#search", "aria-expanded"), "true");
      await page.keyboard.press("Enter");
      assert.equal(await page.textContent("#node-title"), "type_2_diabetes");
      assert.ok(await page.locator("#results").isHidden());
      const profile = await page.textContent(".profile");
      assert.ok(profile.includes("obesity"), profile);
      assert.equal(await page.locator("[role=treeitem][aria-selected=true]").textContent(), "type_2_diabetes");
    }));

  test("a hidden node has states, a profile, rows and neighbours that agree", () =>
    on(file, async (page) => {
      await choose(page, "metabolic");
      const title = await page.textContent("#node-title");
      assert.ok(title.includes("type_2_diabetes"), title);
      const states = await page.locator(".states .value").allTextContents();
      const total = states.map(parseFloat).reduce((a, b) => a + b);
      assert.ok(Math.abs(total - 100) < 1.5, states.join());
      assert.ok((await page.locator(".profile tbody tr").count()) >= 5);
      assert.ok((await page.locator(".rows tbody tr").count()) >= 10);
      const row = await page.locator(".rows tbody tr").first().locator("td").first().textContent();
      assert.ok(Number(row.replace(",", "")) >= 1 && Number(row.replace(",", "")) <= 5000);
      const neighbour = page.locator(".neighbours .link").first();
      const name = await neighbour.textContent();
      await neighbour.click();
      const plain = (text) => text.replace(/[\u2068\u2069]/g, "");
      assert.ok(plain(await page.textContent("#node-title")).includes(plain(name).split(" · ")[0]));
    }));

  test("a click on a node in the picture opens it, and on nothing does not", () =>
    on(file, async (page) => {
      await page.click("#layered");
      await settle(page);
      const box = await page.locator("#canvas").boundingBox();
      // Leaves of the layered picture stand in a column: somewhere on it is one.
      let title = null;
      for (let x = box.width - 260; x < box.width - 120 && !title; x += 6) {
        await page.mouse.move(box.x + x, box.y + box.height / 2);
        if (await page.locator("#tip").isVisible()) {
          await page.mouse.down();
          await page.mouse.up();
          title = await page.textContent("#node-title");
        }
      }
      assert.ok(title, "a node was found");
      await page.keyboard.press("Escape");
      assert.equal(await page.locator("#node-title").count(), 0);
      await page.mouse.click(box.x + 20, box.y + box.height - 60);
      assert.equal(await page.locator("#node-title").count(), 0);
    }));

  test("collapses and expands in the panel, the outline and the picture together", () =>
    on(file, async (page) => {
      const count = () => page.textContent("#outline-count");
      assert.equal(await count(), "52");
      await choose(page, "metabolic");
      const before = await picture(page);
      await page.click("#toggle-node");
      await settle(page);
      assert.match(await count(), /^\d+ of 52$/);
      assert.equal(await page.textContent("#toggle-node"), "Expand");
      assert.notEqual(await picture(page), before);
      // What is searched for comes out again.
      await choose(page, "obesity");
      assert.equal(await count(), "52");
      await page.click("#fewer");
      assert.match(await count(), / of 52$/);
      await page.click("#all");
      assert.equal(await count(), "52");
    }));

  test("the outline is a tree that the keyboard walks", () =>
    on(file, async (page) => {
      await page.focus("#outline");
      const active = () =>
        page.evaluate(() =>
          document
            .getElementById(document.getElementById("outline").getAttribute("aria-activedescendant"))
            ?.getAttribute("aria-label"),
        );
      const level = () =>
        page.evaluate(() =>
          Number(
            document
              .getElementById(document.getElementById("outline").getAttribute("aria-activedescendant"))
              .getAttribute("aria-level"),
          ),
        );
      await settle(page);
      const first = await active();
      assert.match(first, /^Hidden variable/);
      await page.keyboard.press("ArrowRight");
      await settle(page);
      assert.equal(await level(), 2);
      await page.keyboard.press("ArrowLeft");
      await settle(page);
      // It was open, so it closes; a second time goes up.
      if ((await level()) === 2) await page.keyboard.press("ArrowLeft");
      await settle(page);
      assert.equal(await active(), first);
      await page.keyboard.press("ArrowLeft");
      await settle(page);
      assert.equal(await page.locator("[role=treeitem]").count(), 1);
      assert.equal(await page.getAttribute("[role=treeitem]", "aria-expanded"), "false");
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("End");
      await settle(page);
      const last = await active();
      await page.keyboard.press("Enter");
      assert.equal(await page.textContent("#node-title"), last);
    }));

  test("the theme follows the system until it is switched, and stays", () =>
    on(
      file,
      async (page) => {
        const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        const dark = await background();
        assert.equal(dark, "rgb(21, 25, 28)");
        const before = await picture(page);
        await page.click("#theme");
        await settle(page);
        assert.equal(await background(), "rgb(253, 252, 250)");
        assert.notEqual(await picture(page), before);
        await page.click("#theme");
        assert.equal(await background(), dark);
      },
      { colorScheme: "dark" },
    ));

  test("zooms, pans, fits and changes the layout", () =>
    on(file, async (page) => {
      const fitted = await picture(page);
      await page.click("#zoom-in");
      await settle(page);
      const near = await picture(page);
      assert.notEqual(near, fitted);
      await page.focus("#canvas");
      await page.keyboard.press("ArrowLeft");
      await settle(page);
      assert.notEqual(await picture(page), near);
      await page.keyboard.press("0");
      await settle(page);
      assert.equal(await picture(page), fitted);
      await page.click("#layered");
      await settle(page);
      assert.equal(await page.getAttribute("#layered", "aria-pressed"), "true");
      assert.notEqual(await picture(page), fitted);
      await page.mouse.move(600, 400);
      await page.mouse.wheel(0, -300);
      await settle(page);
      await page.click("#fit");
      await page.click("#radial");
      await settle(page);
      assert.equal(await picture(page), fitted);
    }));

  test("looks at the tree from another node", () =>
    on(file, async (page) => {
      await choose(page, "obesity");
      await page.click("text=Look from here");
      await settle(page);
      assert.equal(await page.locator("[role=treeitem][aria-level='1']").textContent(), "▾obesity");
      assert.equal(await page.textContent("#outline-count"), "52");
    }));

  test("downloads are the files that export writes", () =>
    on(file, async (page) => {
      for (const [name, ending] of [
        ["Newick", "nwk"],
        ["Model (JSON)", "json"],
        ["BIF", "bif"],
      ]) {
        await page.click("#downloads-button");
        const waiting = page.waitForEvent("download");
        await page.click(`#downloads button:has-text("${name}") >> nth=0`);
        const download = await waiting;
        assert.equal(download.suggestedFilename(), `Clinic.${ending}`);
        const format = { nwk: "newick", json: "json", bif: "bif" }[ending];
        const expected = run("export", new URL("../../examples/clinic.truth.json", import.meta.url).pathname, "--format", format);
        assert.equal(readFileSync(await download.path(), "utf8"), expected);
      }
    }));

  test("is usable at 400 pixels and has no sideways scroll", () =>
    on(
      file,
      async (page) => {
        const widths = () => page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.deepEqual(await widths(), [400, 400]);
        await choose(page, "metabolic");
        assert.ok(await page.locator("#peek").isVisible());
        await page.click("#peek");
        assert.deepEqual(await widths(), [400, 400]);
        assert.ok((await nColours(page)) > 50);
        const small = await page.evaluate(
          () =>
            [...document.querySelectorAll(".tools button, .actions button")].filter(
              (it) => it.getBoundingClientRect().height < 24,
            ).length,
        );
        assert.equal(small, 0);
      },
      { viewport: { width: 400, height: 860 }, hasTouch: true },
    ));

  test("prints in light colours with the overview", () =>
    on(
      file,
      async (page) => {
        await choose(page, "metabolic");
        await page.emulateMedia({ media: "print" });
        await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
        assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
        assert.ok(await page.locator(".tools").isHidden());
        assert.ok((await page.textContent("#print")).includes("Log-likelihood"));
        await page.emulateMedia({ media: "screen" });
        assert.ok((await page.pdf()).length > 20_000);
      },
      { colorScheme: "dark" },
    ));

  test("everything that can be pressed has a name, and ids are unique", () =>
    on(file, async (page) => {
      await choose(page, "metabolic");
      const found = await page.evaluate(() => {
        const nameless = [...document.querySelectorAll("button, input, [role=tree], [role=img], canvas")].filter(
          (it) => !(it.getAttribute("aria-label") || it.textContent.trim()),
        );
        const ids = [...document.querySelectorAll("[id]")].map((it) => it.id);
        return { nameless: nameless.map((it) => it.outerHTML), twice: ids.filter((id, ix) => ids.indexOf(id) !== ix) };
      });
      assert.deepEqual(found, { nameless: [], twice: [] });
    }));
});

describe("a tree of 200 variables", () => {
  let file;
  before(() => {
    file = largePage();
  });

  const crumbs = (page) => page.locator("#crumbs li").allTextContents();
  const groups = (page) =>
    page.evaluate(() => JSON.parse(document.getElementById("tree-data").textContent).groups.filter((it) => it.level === 1));

  test("opens with its broad groups as a map, and a group opens to what is inside", () =>
    on(file, async (page) => {
      assert.equal(await page.getAttribute("#view-map", "aria-pressed"), "true");
      assert.ok(await page.locator("#canvas").isHidden());
      const broad = await groups(page);
      assert.equal(await page.locator("#map .cell").count(), broad.length);
      assert.deepEqual(await crumbs(page), ["All groups"]);
      await page.locator("#map .cell").first().click({ position: { x: 30, y: 12 } });
      assert.equal((await crumbs(page)).length, 2);
      const panel = await page.textContent("#panel");
      for (const text of ["In words", `Its variables: ${broad[0].variables.length}`]) assert.ok(panel.includes(text), text);
      assert.equal(await page.textContent("#map-note"), broad[0].description);
      await page.click("#crumbs button");
      assert.deepEqual(await crumbs(page), ["All groups"]);
      assert.equal(await page.locator("#map .cell").count(), broad.length);
    }));

  test("the map is walked with the keyboard", () =>
    on(file, async (page) => {
      await page.locator("#map .cell").first().focus();
      await page.keyboard.press("ArrowDown");
      const label = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
      const second = await label();
      await page.keyboard.press("Enter");
      assert.equal((await crumbs(page)).length, 2);
      await page.keyboard.press("Backspace");
      assert.deepEqual(await crumbs(page), ["All groups"]);
      assert.equal(await label(), second);
    }));

  test("a search shows the variable with its group", () =>
    on(file, async (page) => {
      const [group] = await groups(page);
      const name = await page.evaluate((node) => JSON.parse(document.getElementById("tree-data").textContent).names[node], group.variables[0]);
      await page.fill("#search", name);
      assert.match(await page.locator("#results [role=option]").first().textContent(), / ?in /);
      await page.press("#search", "Enter");
      assert.ok((await crumbs(page)).length >= 2);
      assert.match(await page.textContent(".belongs"), /In the group/);
      assert.equal(await page.locator(`[data-variable="${group.variables[0]}"]`).count(), 1);
    }));

  test("the table of groups is sorted and copied", () =>
    on(file, async (page) => {
      await page.keyboard.press("3");
      const column = async (at) => (await page.locator(`.groups tbody td:nth-child(${at})`).allTextContents()).map(Number);
      const heads = (await page.locator(".groups thead th").allTextContents()).map((it) => it.trim());
      const at = heads.indexOf("Variables") + 1;
      await page.click(".groups thead button:has-text('Variables')");
      const sorted = await column(at);
      assert.deepEqual(sorted, [...sorted].sort((a, b) => b - a));
      assert.equal(await page.getAttribute(`.groups thead th:nth-child(${at})`, "aria-sort"), "descending");
      await page.click("#downloads-button");
      const waiting = page.waitForEvent("download");
      await page.click("#downloads button:has-text('Table of groups')");
      const lines = readFileSync(await (await waiting).path(), "utf8").trimEnd().split("\n").map((line) => line.split("\t"));
      assert.equal(lines.length, sorted.length + 1);
      assert.deepEqual(lines.slice(1).map((line) => Number(line[at - 1])), sorted);
      await page.click("#copy-table");
      await page.waitForFunction(() => /copied|allow/.test(document.querySelector(".table-tools").textContent));
    }));

  test("no label covers another, near or far, in either layout", () =>
    on(file, async (page) => {
      await page.click("#view-tree");
      for (const layout of ["radial", "layered"]) {
        await page.click(`#${layout}`);
        await page.click("#fit");
        for (let step = 0; step < 3; step++) {
          await settle(page);
          const { labels, covered } = await page.evaluate(overlaps, await savedText(page, "SVG"));
          assert.ok(step > 0 || labels >= 5, `${labels} labels`);
          assert.deepEqual(covered, []);
          await page.click("#zoom-in");
          await page.click("#zoom-in");
        }
      }
    }));

  test("map and tree are saved as SVG and PNG", () =>
    on(file, async (page) => {
      for (const view of ["map", "tree"]) {
        await page.click(`#view-${view}`);
        await settle(page);
        const svg = await savedText(page, "SVG");
        assert.ok(svg.startsWith("<svg") && !/<script|\son\w+=/.test(svg));
        const png = readFileSync(await saved(page, "PNG"));
        assert.deepEqual([...png.subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47]);
        assert.ok(png.length > 10_000, `${png.length} bytes`);
      }
    }));

  test("how to read it is behind ?, and Escape closes it", () =>
    on(file, async (page) => {
      await page.keyboard.press("?");
      assert.ok((await page.textContent("#help")).includes("What is a group?"));
      await page.keyboard.press("Escape");
      assert.ok(await page.locator("#help").isHidden());
    }));

  test("prints on one or two pages", () =>
    on(file, async (page) => {
      for (const view of ["map", "tree"]) {
        await page.click(`#view-${view}`);
        await settle(page);
        const pdf = (await page.pdf({ format: "A4" })).toString("latin1");
        const pages = pdf.match(/\/Type\s*\/Page\b(?!s)/g).length;
        assert.ok(pages <= 2, `${view}: ${pages} pages`);
      }
    }));

  test("fits 400 pixels", () =>
    on(
      file,
      async (page) => {
        for (const view of ["map", "tree", "table"]) {
          await page.click(`#view-${view}`);
          await settle(page);
          assert.deepEqual(await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]), [400, 400], view);
        }
      },
      { viewport: { width: 400, height: 860 }, hasTouch: true },
    ));
});

test("a bootstrapped model shows the support of its splits", () =>
  on(learnedClinicPage(), async (page) => {
    await choose(page, "h1");
    assert.ok((await page.textContent(".neighbours thead")).includes("Support"));
    assert.match(await page.textContent(".neighbours tbody"), /\d+%/);
    assert.ok((await page.locator(".neighbours .link").count()) >= 3);
  }));

describe("other models", () => {
  test("a Gaussian model shows correlations and extreme rows", () => {
    run(
      "simulate",
      "--shape",
      "double-star",
      "--observed",
      "10",
      "--family",
      "gaussian",
      "--model",
      "g.json",
      "--data",
      "g.csv",
      "--rows",
      "200",
    );
    run("report", "g.json", "g.csv", "-o", "g.html");
    return on(`${folder}/g.html`, async (page) => {
      await choose(page, "h1");
      const text = await page.textContent("#panel");
      for (const part of ["Correlations", "Highest", "Lowest", "Standard deviation"]) assert.ok(text.includes(part), part);
      await page.keyboard.press("Escape");
    });
  });

  test("groups, counts, numbers and labels of a mixed model are shown", () => {
    run(
      "simulate",
      "--shape",
      "random",
      "--observed",
      "20",
      "--family",
      "mixed",
      "--states",
      "4",
      "--hidden-states",
      "3",
      "--model",
      "m.json",
      "--data",
      "m.csv",
      "--rows",
      "300",
    );
    run("report", "m.json", "m.csv", "-o", "m.html");
    return on(`${folder}/m.html`, async (page) => {
      const lines = await page.locator("[role=treeitem]").count();
      for (let line = 0; line < lines; line++) {
        await page.locator("[role=treeitem]").nth(line).locator(".name").click();
        assert.ok(!/undefined|NaN|\[object/.test(await page.textContent("#panel")));
      }
    });
  });

  test("a tree alone, a forest and a single node have pages", async () => {
    write("t.nwk", "((a:0.1,b:0.2)x:0.3,(c:0.1,d:0.4)y:0.2,e:1);");
    run("report", "t.nwk", "-o", "t.html");
    await on(`${folder}/t.html`, async (page) => {
      await choose(page, "a");
      assert.ok((await page.textContent("#panel")).includes("Distances along the tree"));
      await page.click("#downloads-button");
      assert.ok(await page.locator("#downloads button:has-text('BIF')").first().isDisabled());
    });
    const alone = (names) => names.map((name) => ({ name, observed: true }));
    write("f.json", {
      format: "latentree",
      version: 1,
      kind: "tree",
      nodes: alone(["p", "q", "r"]),
      edges: [{ source: "p", target: "q" }],
    });
    run("report", "f.json", "-o", "f.html");
    await on(`${folder}/f.html`, async (page) => {
      assert.ok((await page.textContent("#panel")).includes("Separate trees"));
      await choose(page, "r");
      assert.ok((await page.textContent("#panel")).includes("stands alone"));
    });
    write("1.json", { format: "latentree", version: 1, kind: "tree", nodes: alone(["only"]), edges: [] });
    run("report", "1.json", "-o", "1.html");
    await on(`${folder}/1.html`, (page) => choose(page, "only"));
  });
});

describe("hostile names", () => {
  const attacks = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "<!--<script>",
    "'; alert(4); //",
    "javascript:alert(5)",
    "{{constructor.constructor('alert(6)')()}}",
    "</title></style></textarea><svg onload=alert(7)>",
    "__LATENTREE_DETAILS__",
    "$& $` $' $1",
    "__proto__",
    "constructor",
    "\u2028\u2029\u0000\u0007\r\n\ttab",
    "\u202eright to left override",
    "שלום עולם",
    "مرحبا بالعالم",
    "🌳👨‍👩‍👧‍👦🏳️‍🌈",
    "a\u0301\u0302\u0303".repeat(50),
    "x".repeat(10_000),
    "<b>".repeat(3_000),
    "\ud83d\ude00".repeat(2_500),
    "&lt;&amp;&#60;script&#62;",
    "`${alert(8)}`",
    "0",
  ];

  for (let part = 0; part * 8 < attacks.length; part++) {
    test(`cannot inject, and are shown as they are (${part + 1})`, async () => {
      const names = attacks.slice(part * 8, part * 8 + 8);
      const { model, data, leaves, hidden } = namedPage(`hostile${part}`, names, "<img src=x onerror=alert(9)>");
      // NUL is no character of a CSV file's cell for every reader, so those names go without data.
      const withData = names.every((name) => !/[\u0000\r\n]/.test(name));
      run("report", model, ...(withData ? [data] : []), "--title", names[0].slice(0, 100), "-o", `hostile${part}.html`);
      await on(`${folder}/hostile${part}.html`, async (page) => {
        const clean = async () => {
          const found = await page.evaluate(() => ({
            scripts: [...document.scripts].map((it) => it.type || "program"),
            foreign: document.querySelectorAll(
              "img, iframe, object, embed, svg[onload], b, link, base, form, [onerror], [onload], [onclick]",
            ).length,
            polluted: {}.names,
          }));
          assert.deepEqual(found.scripts, ["application/json", "program", "application/json", "application/json"]);
          assert.equal(found.foreign, 0);
          assert.equal(found.polluted, undefined);
        };
        await clean();
        const lines = page.locator("[role=treeitem]");
        const seen = new Set();
        for (let line = 0; line < (await lines.count()); line++) {
          await lines.nth(line).click();
          await clean();
          const isObserved = (await page.locator(".own-name").count()) === 0;
          const shown = isObserved ? await page.textContent("#node-title") : await page.textContent(".own-name bdi");
          seen.add(shown);
          const { scrollWidth, innerWidth } = await page.evaluate(() => ({
            scrollWidth: document.documentElement.scrollWidth,
            innerWidth,
          }));
          assert.ok(scrollWidth <= innerWidth, "a long name stays in its place");
        }
        for (const name of leaves) assert.ok(seen.has(name), `${JSON.stringify(name.slice(0, 60))} is shown as it is`);
        const line = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, "·");
        for (const name of hidden) assert.ok(seen.has(line(name)), JSON.stringify(name.slice(0, 60)));
        await choose(page, names[2].slice(0, 20));
        await page.click("#layered");
        await page.click("#downloads-button");
        await clean();
      });
    });
  }
});

test("a tree of 20,000 nodes opens, is searched, collapsed and walked", () =>
  on(bigPage(), async (page) => {
    assert.equal(await page.textContent("#subtitle"), "12,000 observed · 8,661 hidden");
    assert.ok((await page.locator("#map .cell").count()) >= 8);
    await page.click("#view-tree");
    await settle(page);
    // Only the lines in view exist.
    assert.ok((await page.locator("[role=treeitem]").count()) < 100);
    assert.ok((await nColours(page)) > 50);
    await choose(page, "x11999");
    assert.equal(await page.textContent("#node-title"), "x11999");
    assert.ok((await page.locator(".profile tbody tr").count()) >= 3);
    await page.click("#fewer");
    assert.match(await page.textContent("#outline-count"), / of 20,661$/);
    await page.click("#all");
    await page.focus("#outline");
    await page.keyboard.press("End");
    await settle(page);
    assert.ok((await page.locator(".line.active").count()) === 1);
    await page.mouse.move(600, 400);
    for (let step = 0; step < 10; step++) await page.mouse.wheel(0, -100);
    await settle(page);
    assert.ok((await nColours(page)) > 20);
  }));
