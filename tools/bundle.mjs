// Makes specifications self-contained: what they import, however far down, becomes a nested type.
//
//   node tools/bundle.mjs --out DIR FILE.ksy...
//
// A specification without imports is copied as it is.  Others lose their comments and the spelling of their numbers,
// which is why bundles are a build product.  Imported types must not use `_root` (the lint sees to that), and of their
// `meta` only what a nested type may have is kept.

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { loadSpec, messageOf } from "./ksc.mjs";

const require = createRequire(import.meta.url);
const YAML = require("js-yaml");
const NESTED_META = ["encoding", "endian", "bit-endian"];

function importsOf(spec) {
  return spec.meta?.imports ?? [];
}

function pick(object, keys) {
  return Object.fromEntries(keys.filter((key) => key in object).map((key) => [key, object[key]]));
}

export function bundle(file) {
  const folder = path.dirname(file);
  const root = loadSpec(file);
  if (importsOf(root).length === 0) return fs.readFileSync(file, "utf8");
  const inlined = new Map();
  const waiting = [...importsOf(root)];
  while (waiting.length > 0) {
    const name = waiting.shift();
    if (inlined.has(name)) continue;
    const { meta, ...body } = loadSpec(path.join(folder, `${name}.ksy`));
    waiting.push(...importsOf({ meta }));
    const kept = pick(meta, NESTED_META);
    inlined.set(name, Object.keys(kept).length > 0 ? { meta: kept, ...body } : body);
  }
  const { imports, ...meta } = root.meta;
  const clash = [...inlined.keys()].filter((name) => name in (root.types ?? {}));
  if (clash.length > 0) throw new Error(`${file}: type ${clash[0]} has the name of an imported specification`);
  const types = { ...root.types, ...Object.fromEntries([...inlined].sort(([a], [b]) => (a < b ? -1 : 1))) };
  const head = `# Made from ${path.basename(file)} and what it imports; the source has the comments.\n`;
  const { enums, ...rest } = { ...root, meta };
  const whole = { ...rest, types, ...(enums ? { enums } : {}) };
  return head + YAML.dump(whole, { schema: YAML.CORE_SCHEMA, lineWidth: -1, noRefs: true });
}

async function main(argv) {
  const [option, out, ...files] = argv;
  if (option !== "--out" || !out) throw new Error("usage: bundle.mjs --out DIR FILE.ksy...");
  fs.mkdirSync(out, { recursive: true });
  for (const file of files) fs.writeFileSync(path.join(out, path.basename(file)), bundle(file));
}

main(process.argv.slice(2)).catch((error) => {
  console.error(messageOf(error));
  process.exitCode = 1;
});
