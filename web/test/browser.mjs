// Headless Chromium, without a network, and a check that the page says nothing on the console.
import { chromium } from "playwright-core";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const args = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const launch = () => chromium.launch({ executablePath, headless: true, args });

/** Opens a file in a context of its own; `problems` fills with everything that should not happen. */
export async function open(browser, file, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    offline: true,
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("request", (request) => /^(file|blob|data):/.test(request.url()) || problems.push(`request: ${request.url()}`));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(`file://${file}`);
  await page.waitForSelector("html[data-ready]").catch(() => {
    throw new Error(`the page does not come up: ${problems.join("; ")}`);
  });
  return { page, context, problems };
}
