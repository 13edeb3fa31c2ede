// The pictures in docs/images: the clinic example as a page, wide and narrow, light and dark.
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { launch, open } from "./browser.mjs";
import { learnedClinicPage } from "./pages.mjs";

const target = fileURLToPath(new URL("../../docs/images/", import.meta.url));
mkdirSync(target, { recursive: true });
const file = learnedClinicPage();
const browser = await launch();
for (const [width, height] of [
  [1280, 800],
  [400, 860],
]) {
  for (const colorScheme of ["light", "dark"]) {
    const { page, context } = await open(browser, file, { viewport: { width, height }, colorScheme });
    await page.fill("#search", "depression");
    await page.press("#search", "ArrowDown");
    await page.press("#search", "Enter");
    await page.fill("#search", "");
    await page.locator("#search").blur();
    await page.waitForTimeout(400);
    await page.screenshot({ path: `${target}report-${width}-${colorScheme}.png` });
    await context.close();
  }
}
await browser.close();
