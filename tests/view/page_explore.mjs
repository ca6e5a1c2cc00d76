// Uses the page of `exhume explore` in a headless Chromium: an archive, an image with archives in it, and a file that is
// read by a specification.
//
//   node page_explore.mjs CHROMIUM ARCHIVE_URL IMAGE_URL SCREENSHOTS QUERY SPECIFIED_URL
//
// A search for "endless" is given up when there is a file "reading" next to the screenshots.
//
// Prints what was seen as JSON.  Where axe-core is installed, "axe" has the rules that the page breaks in each mode.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { chromium } from "playwright-core";

const [executablePath, archive, image, pictures, query, specified] = process.argv.slice(2);
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"];
const MODES = {
  light: { viewport: { width: 1400, height: 820 }, colorScheme: "light" },
  dark: { viewport: { width: 1400, height: 820 }, colorScheme: "dark" },
  telephone: { viewport: { width: 390, height: 780 }, colorScheme: "light" },
};
let axe = null;
try { axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf-8"); } catch { /* not installed */ }

const browser = await chromium.launch({ executablePath, headless: true, args: FLAGS });
const told = { axe: axe === null ? null : {} };

async function open(mode, url) {
  const context = await browser.newContext({ ...MODES[mode], bypassCSP: false });
  const page = await context.newPage();
  const errors = [], elsewhere = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) errors.push(message.text()); });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => { if (new URL(request.url()).origin !== new URL(url).origin && !request.url().startsWith("data:")) elsewhere.push(request.url()); });
  await page.goto(url);
  await page.waitForSelector("html[data-ready=yes]");
  await page.waitForSelector("#hex .b");
  await page.waitForFunction(() => window.exhume.contents.state === "done");
  return { page, errors, elsewhere, state: () => page.evaluate(() => window.exhume.state()) };
}

async function violations(page, name) {
  if (axe === null) return;
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  told.axe[name] = found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).slice(0, 3).join(", ")}`);
}

try {
  for (const mode of Object.keys(MODES)) {
    const { page, errors, elsewhere, state } = await open(mode, archive);
    const one = told[mode] = { errors, elsewhere, verdict: await page.locator("#verdict").textContent(), opened: await state() };
    one.overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    await page.screenshot({ path: path.join(pictures, `explore-${mode}.png`) });
    await violations(page, mode);
    await page.locator("#tools button").click();
    await page.waitForSelector("#records tbody tr");
    one.all = await page.locator("#records tbody tr").count();
    await page.locator("#query").fill(query);
    await page.keyboard.press("Enter");
    await page.waitForFunction((before) => !/searching/.test(document.querySelector("#records .said").textContent) && document.querySelectorAll("#records tbody tr").length !== before, one.all);
    one.matching = await page.locator("#records tbody tr").count();
    one.said = await page.locator("#records .said").textContent();
    await page.screenshot({ path: path.join(pictures, `records-${mode}.png`) });
    await violations(page, `records-${mode}`);
    await page.keyboard.press("Escape");
    one.closed = await page.locator("#records").isHidden();
    await page.context().close();
  }

  const { page, errors, state } = await open("light", archive);
  const use = told.use = { errors };
  await page.keyboard.press("/");
  await page.locator("#search").fill("metadata");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => window.exhume.state().selected === "metadata");
  use.named = await state();
  use.saves = await page.locator("#detail a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  await page.keyboard.press("Escape");
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.querySelectorAll("#space option").length > 1);
  use.spaces = await page.locator("#space option").allTextContents();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => window.exhume.state().selected !== "metadata");
  use.field = (await state()).selected;
  use.field_saves = await page.locator("#detail a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  await page.locator("#space").selectOption("1");
  await page.waitForFunction(() => document.querySelectorAll("#hex .b").length > 8 && window.exhume.state().space === 1);
  use.payload = (await page.locator("#hex .b").allTextContents()).slice(0, 8).join("");
  await page.locator("#space").selectOption("0");
  await page.locator("#map").hover({ position: { x: 10, y: 100 } });
  await page.mouse.wheel(0, -400);
  await page.waitForFunction(() => /0x/.test(document.querySelector("#map").title));
  use.zoomed = await page.locator("#map").getAttribute("title");
  await page.keyboard.press("r");
  await page.waitForSelector("#records tbody tr");
  const asked = page.waitForRequest((request) => /query=endless/.test(request.url()));
  const givenUp = page.waitForEvent("requestfailed", (request) => /query=endless/.test(request.url()));
  await page.locator("#query").fill("endless");
  await page.keyboard.press("Enter");
  await asked;
  while (!existsSync(path.join(pictures, "reading"))) await page.waitForTimeout(20);
  await page.keyboard.press("Escape");
  use.given_up = (await givenUp).failure().errorText;
  await page.goto(archive + "#/schema_tree");
  await page.reload();
  await page.waitForSelector("html[data-ready=yes]");
  await page.waitForFunction(() => window.exhume.state().selected === "/schema_tree");
  use.linked = await state();
  await page.context().close();

  const found = await open("light", image);
  const carved = told.image = { errors: found.errors, verdict: await found.page.locator("#verdict").textContent() };
  await found.page.waitForSelector("#tree a[href^='?archive']");
  carved.rows = await found.page.locator("#tree .row").allTextContents();
  await found.page.screenshot({ path: path.join(pictures, "image-light.png") });
  await violations(found.page, "image");
  await found.page.locator("#tree a[href^='?archive']").first().click();
  await found.page.waitForSelector("html[data-ready=yes]");
  await found.page.waitForFunction(() => window.exhume.contents.kind === "archive" && window.exhume.contents.state === "done");
  carved.inside = { url: found.page.url().split("?")[1], verdict: await found.page.locator("#verdict").textContent() };
  await found.page.screenshot({ path: path.join(pictures, "carved-light.png") });

  await found.page.goto(specified);
  await found.page.waitForSelector("html[data-ready=yes]");
  told.specified = { rows: await found.page.locator("#tree .row").allTextContents(), errors: found.errors };
  console.log(JSON.stringify(told));
} finally {
  await browser.close();
}
