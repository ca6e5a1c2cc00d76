// Opens an explain page in a headless Chromium and uses it as a person would.
//
//   node page_browser.mjs CHROMIUM PAGE OFFSET FIELD [SCREENSHOT [dark|light]]
//
// Prints {"ready_ms", "errors": [...], "requests": [...], "steps": {...}} as JSON.

import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, file, offset, field, screenshot, scheme] = process.argv.slice(2);
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND"];

const browser = await chromium.launch({ executablePath, headless: true, args: FLAGS });
try {
  const context = await browser.newContext({ viewport: { width: 1400, height: 820 }, colorScheme: scheme ?? "light" });
  const page = await context.newPage();
  const errors = [], requests = [], steps = {};
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) errors.push(message.text()); });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => requests.push(request.url()));
  const begin = Date.now();
  await page.goto(pathToFileURL(path.resolve(file)).href);
  await page.waitForSelector("html[data-ready=yes]");
  await page.waitForSelector("#hex .b");
  const ready = Date.now() - begin;
  const state = () => page.evaluate(() => window.exhume.state());

  steps.theme = await page.evaluate(() => document.documentElement.dataset.theme);
  steps.rows_drawn = await page.locator("#tree .row").count();
  steps.hex_rows_drawn = await page.locator("#hex .row").count();

  await page.locator("#hex .b").nth(3).click();
  await page.waitForFunction(() => document.querySelectorAll("#tree .here").length === 1);
  steps.after_click = await state();
  steps.selected_bytes = await page.locator("#hex .b.sel").count();

  await page.locator("#tree .row").nth(2).hover();
  await page.waitForFunction(() => document.querySelector("#detail").textContent.length > 0);
  steps.hovered_detail = await page.locator("#detail").textContent();

  await page.keyboard.press("/");
  await page.locator("#search").fill(offset);
  await page.keyboard.press("Enter");
  await page.waitForFunction((at) => window.exhume.state().cursor === Number(at), offset);
  steps.after_jump = await state();
  steps.jump_visible = await page.locator(`#hex .b[data-at="${Number(offset)}"]`).isVisible();

  await page.locator("#search").fill(field);
  await page.keyboard.press("Enter");
  await page.waitForFunction((name) => window.exhume.state().selected === name, field);
  steps.after_search = await state();
  steps.search_detail = await page.locator("#detail").textContent();

  await page.keyboard.press("Escape");
  const before = (await state()).selected;
  await page.keyboard.press("ArrowUp");
  await page.waitForFunction((name) => window.exhume.state().selected !== name, before);
  steps.after_key = await state();

  if (screenshot) {
    await page.evaluate(() => window.exhume.find(window.exhume.contents.sections[0].name));
    await page.keyboard.press("ArrowRight");
    await page.locator("#search").fill(field);
    await page.keyboard.press("Enter");
    await page.waitForFunction((name) => window.exhume.state().selected === name, field);
    await page.screenshot({ path: screenshot });
  }
  await page.locator("#theme").click();
  steps.other_theme = await page.evaluate(() => document.documentElement.dataset.theme);
  await page.locator("#map").click({ position: { x: 10, y: 300 } });
  await page.waitForTimeout(100);
  steps.after_map = await state();
  console.log(JSON.stringify({ ready_ms: ready, errors, requests, steps }));
} finally {
  await browser.close();
}
