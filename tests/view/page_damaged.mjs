// Opens the explain page of a damaged archive in light, dark, on a telephone, and by keyboard alone.
//
//   node page_damaged.mjs CHROMIUM PAGE SCREENSHOTS SECTION
//
// Prints {mode: {"errors": [...], ...what was seen}} as JSON; SCREENSHOTS is a folder for a picture of each mode.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, file, pictures, section] = process.argv.slice(2);
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND"];
const url = pathToFileURL(path.resolve(file)).href;
const MODES = {
  light: { viewport: { width: 1400, height: 820 }, colorScheme: "light" },
  dark: { viewport: { width: 1400, height: 820 }, colorScheme: "dark" },
  telephone: { viewport: { width: 390, height: 780 }, colorScheme: "light" },
};

let axe = null;
try { axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf-8"); } catch { /* not installed */ }
// The rules of axe-core that a page breaks.
async function broken(page) {
  if (axe === null) return [];
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).slice(0, 3).join(", ")}`);
}

const browser = await chromium.launch({ executablePath, headless: true, args: FLAGS });
const told = {};

async function open(mode, hash = "") {
  const context = await browser.newContext({ ...MODES[mode], permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  const errors = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) errors.push(message.text()); });
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(url + hash);
  await page.waitForSelector("html[data-ready=yes]");
  await page.waitForSelector("#hex .b");
  return { page, errors, state: () => page.evaluate(() => window.exhume.state()) };
}

// What a person sees of the finding: its words inside the visible part of the footer, and the colors of the bytes.
const seen = (page) => page.evaluate(() => {
  const detail = document.querySelector("#detail"), words = detail.querySelector(".badtext");
  const inside = (inner, outer) => inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1 && inner.left >= outer.left - 1 && inner.right <= outer.right + 1;
  const color = (selector) => { const one = document.querySelector(selector); return one && getComputedStyle(one).backgroundColor; };
  return {
    finding: words && words.textContent,
    whole: !!words && inside(words.getBoundingClientRect(), detail.getBoundingClientRect()) && detail.getBoundingClientRect().bottom <= innerHeight,
    both: color("#hex .b.sel.bad"), damaged: color(".swatch .bad:not(.sel)"), panel: color("#hex"),
    marked: document.querySelectorAll("#hex .b.bad").length,
    current: document.querySelectorAll("#hex .b.cur").length,
    overflow: document.documentElement.scrollWidth - innerWidth,
    legend: document.querySelector("#legend").textContent,
    row: document.querySelector("#tree .here") && document.querySelector("#tree .here").textContent,
  };
});

try {
  for (const mode of Object.keys(MODES)) {
    const { page, errors, state } = await open(mode);
    const one = told[mode] = { errors, verdict: await page.locator("#verdict").textContent(), opened: { ...await state(), ...await seen(page) } };
    await page.screenshot({ path: path.join(pictures, `${mode}.png`) });
    one.axe = await broken(page);
    await page.locator("#tree .row").first().click();
    one.elsewhere = await state();
    await page.locator("#verdict").click();
    await page.waitForFunction((at) => window.exhume.state().cursor === at, one.opened.cursor);
    one.clicked = { ...await state(), ...await seen(page) };
    if (mode === "telephone") await page.locator("#legend summary").click();
    one.swatches = await page.locator("#legend .swatch").filter({ visible: true }).count();
    await page.locator("#tree .here .link").click();
    one.copied = await page.evaluate(() => navigator.clipboard.readText());
    one.address = page.url();
    await page.close();
  }

  const links = told.links = {};
  for (const hash of ["#0x1f4", "#" + encodeURIComponent(section), "#nowhere", "#0xffffffffff"]) {
    const { page, errors, state } = await open("light", hash);
    links[hash] = { errors, ...await state(), detail: await page.locator("#detail").textContent() };
    await page.close();
  }

  const { page, errors, state } = await open("light", "#" + encodeURIComponent(section));
  const keyboard = told.keyboard = { errors, start: await state() };
  await page.keyboard.press("n");
  await page.waitForFunction(() => document.querySelector("#detail .badtext"));
  keyboard.finding = { ...await state(), ...await seen(page) };
  await page.keyboard.press("/");
  await page.keyboard.type(section);
  await page.keyboard.press("Enter");
  await page.waitForFunction((name) => window.exhume.state().selected === name, section);
  await page.keyboard.press("Escape"); // to the fields
  keyboard.focused = await page.evaluate(() => document.activeElement.id);
  const expanded = (wanted) => page.waitForFunction((it) => document.querySelector("#tree .here").getAttribute("aria-expanded") === it, wanted);
  await page.keyboard.press("ArrowLeft");
  await expanded("false");
  await page.keyboard.press("Enter");
  await expanded("true");
  keyboard.open = await state();
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction((name) => window.exhume.state().selected !== name, section);
  keyboard.below = await state();
  await page.keyboard.press("c");
  await page.waitForFunction(() => document.querySelector("#detail").textContent.startsWith("copied: "));
  keyboard.copied = await page.evaluate(() => navigator.clipboard.readText());
  keyboard.reached = [];
  await page.evaluate(() => document.activeElement.blur());
  for (let i = 0; i < 10; i++) {
    await page.keyboard.press("Tab");
    keyboard.reached.push(await page.evaluate(() => document.activeElement.id || document.activeElement.parentElement.id));
  }
  await page.screenshot({ path: path.join(pictures, "keyboard.png") });

  // an address that only another space has: from a payload back to the file
  const payload = await page.evaluate(() => window.exhume.contents.spaces.findIndex((one) => one.kind === "payload"));
  const last = await page.evaluate(() => window.exhume.contents.spaces[0].size - 1);
  await page.locator("#space").selectOption(String(payload));
  await page.locator("#search").fill("0x" + last.toString(16));
  await page.keyboard.press("Enter");
  await page.waitForFunction((at) => window.exhume.state().cursor === at, last);
  told.switched = { from: payload, last, ...await state() };
  told.rows = await page.locator("#tree .row").allTextContents();
  console.log(JSON.stringify(told));
} finally {
  await browser.close();
}
