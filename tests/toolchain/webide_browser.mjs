// Opens specifications with samples in a built Kaitai Web IDE, in a headless Chromium, through the page's own
// drag-and-drop path.  One page for all cases; nothing but the site, served on loopback, can be reached.
//
//   node webide_browser.mjs SITE CHROMIUM < CASES.json > RESULTS.json
//
// CASES: [{"specs": [path...], "spec": path, "sample": path}]; RESULTS: [{"errors": [text...], "bad": [path...], "nodes": n}]

import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { chromium } from "playwright-core";

const [site, executablePath] = process.argv.slice(2);
const cases = JSON.parse(fs.readFileSync(0, "utf8"));

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json" };
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
];

const server = http.createServer((request, response) => {
  const name = decodeURIComponent(new URL(request.url, "http://127.0.0.1").pathname);
  const file = path.join(site, path.normalize(name));
  fs.readFile(file, (error, data) => {
    response.writeHead(error ? 404 : 200, { "Content-Type": TYPES[path.extname(file)] ?? "application/octet-stream" });
    response.end(error ? "" : data);
  });
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;

const browser = await chromium.launch({ executablePath, headless: true, args: FLAGS });
try {
  const page = await (await browser.newContext()).newPage();
  await page.route("**/*", (route) => (route.request().url().startsWith(origin) ? route.continue() : route.abort()));
  await page.addInitScript(() => {
    // The page loads an error reporter from elsewhere; it gets one that does nothing.
    const raven = new Proxy(function () {}, { get: () => raven, apply: () => raven });
    window.Raven = raven;
    localStorage.setItem("doNotShowWelcome", "true");
  });
  await page.goto(`${origin}/index.html?noAutoCompile`);
  await page.waitForFunction(() => window.kaitaiIde?.app?.inputReady && window.kaitaiIde.app.formatReady);
  await page.evaluate(() => Promise.all([window.kaitaiIde.app.inputReady, window.kaitaiIde.app.formatReady]));
  await page.evaluate(async () => {
    const { app } = window.kaitaiIde;
    app.vm.disableLazyParsing = true;
    await new Promise((resolve) => setTimeout(resolve, 50));
    await app.reparse();
    window.collected = [];
    app.errors.handle = (error) => {
      if (error) window.collected.push(typeof error.getMessage__T === "function" ? error.getMessage__T() : String(error.message ?? error));
    };
  });
  const results = [];
  for (const item of cases) {
    const files = [...item.specs, item.sample].map((file) => ({
      name: path.basename(file),
      base64: fs.readFileSync(file).toString("base64"),
    }));
    const names = { spec: path.basename(item.spec), sample: path.basename(item.sample) };
    results.push(await page.evaluate(openCase, { files, names }));
  }
  process.stdout.write(JSON.stringify(results));
} finally {
  await browser.close();
  server.close();
}

// Runs in the page.
async function openCase({ files, names }) {
  const { app } = window.kaitaiIde;
  window.collected = [];
  window.kaitaiIde.root = null;
  const bytesOf = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  await app.addNewFiles(
    files.map(({ name, base64 }) => ({
      file: { name },
      read: async (mode) => (mode === "text" ? new TextDecoder().decode(bytesOf(base64)) : bytesOf(base64).buffer),
    })),
  );
  const errors = [];
  try {
    await app.loadFsItem({ fsType: "local", type: "file", fn: names.sample }, false);
    await app.loadFsItem({ fsType: "local", type: "file", fn: names.spec }, false);
    await app.recompile();
  } catch (error) {
    errors.push(String(error?.error?.message ?? error?.message ?? error));
  }
  let nodes = 0;
  const bad = [];
  const walk = (node, where) => {
    nodes += 1;
    if (node.incomplete || node.validationError || node.instanceError) bad.push(where || "/");
    for (const [name, field] of Object.entries(node.object?.fields ?? {})) walk(field, `${where}/${name}`);
    for (const [name, instance] of Object.entries(node.object?.instances ?? {})) walk(instance, `${where}/${name}`);
    (node.arrayItems ?? []).forEach((inner, index) => walk(inner, `${where}/${index}`));
  };
  if (window.kaitaiIde.root) walk(window.kaitaiIde.root, "");
  return { errors: [...errors, ...window.collected], bad, nodes };
}
