// How fast a page of 20,000 nodes is: first paint, and frames a second while panning and zooming. Prints; asserts nothing.
//   npm run measure [-- PAGE.html]
import { bigPage } from "./pages.mjs";
import { launch, open } from "./browser.mjs";

const file = process.argv[2] ?? (await bigPage());
const browser = await launch();

async function frames(page, gesture) {
  await page.evaluate(() => {
    window.stamps = [];
    const tick = (now) => {
      window.stamps.push(now);
      window.ticking = requestAnimationFrame(tick);
    };
    window.ticking = requestAnimationFrame(tick);
  });
  await gesture();
  const stamps = await page.evaluate(() => (cancelAnimationFrame(window.ticking), window.stamps));
  const gaps = stamps
    .slice(1)
    .map((stamp, ix) => stamp - stamps[ix])
    .sort((a, b) => a - b);
  const rate = ((stamps.length - 1) * 1000) / (stamps.at(-1) - stamps[0]);
  return `${rate.toFixed(0)} frames a second, median ${gaps[gaps.length >> 1].toFixed(1)} ms, 95% within ${gaps[Math.floor(gaps.length * 0.95)].toFixed(1)} ms, longest ${gaps.at(-1).toFixed(0)} ms`;
}

for (const layout of ["radial", "layered"]) {
  const { page, context, problems } = await open(browser, file);
  await page.waitForTimeout(1500);
  const paint = await page.evaluate(() => ({
    first: performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
    drawn: performance.getEntriesByName("latentree-drawn")[0]?.startTime,
    loaded: performance.getEntriesByType("navigation")[0]?.loadEventEnd,
  }));
  const milliseconds = (value) => (value === undefined ? "?" : `${Math.round(value)} ms`);
  if (layout === "radial") {
    console.log(`nodes          ${await page.textContent("#subtitle")}`);
    console.log(
      `first paint    ${milliseconds(paint.first)}; all drawn after ${milliseconds(paint.drawn)}; all loaded after ${milliseconds(paint.loaded)}`,
    );
  }
  if (await page.locator("#view-tree").isVisible()) await page.click("#view-tree");
  await page.click(`#${layout}`);
  await page.waitForTimeout(500);
  const box = await page.locator("#canvas").boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const pan = async () => {
    await page.mouse.move(x, y);
    await page.mouse.down();
    for (let step = 0; step < 180; step++) await page.mouse.move(x + 160 * Math.sin(step / 15), y + 120 * Math.sin(step / 11));
    await page.mouse.up();
  };
  const zoom = async () => {
    for (let step = 0; step < 120; step++) await page.mouse.wheel(0, step % 60 < 30 ? -60 : 60);
  };
  console.log(`pan   ${layout.padEnd(8)} ${await frames(page, pan)}`);
  await page.waitForTimeout(400);
  console.log(`zoom  ${layout.padEnd(8)} ${await frames(page, zoom)}`);
  // Near enough to read names.
  for (let step = 0; step < 26; step++) await page.mouse.wheel(0, -120);
  await page.waitForTimeout(400);
  console.log(`close ${layout.padEnd(8)} ${await frames(page, pan)}`);
  if (problems.length > 0) console.log(problems);
  await context.close();
}
await browser.close();
