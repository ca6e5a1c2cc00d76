// Opens specifications with samples the way the Kaitai Web IDE does, without a browser: js-yaml, the compiler's
// JavaScript output in debug mode, every file in one scope, every field and every instance visited.
//
//   node webide_twin.mjs < CASES > RESULTS
//
// CASES: lines of JSON, [{"spec": path, "sample": path, "args": [value...]}...]; a specification is compiled once.
// RESULTS: as many, [{"error": text or null, "incomplete": [path...], "nodes": n, "tree": value}...], in this order.
// In a tree a structure is {"$type": name, field: value...}, bytes are {"$bytes": base64}, and an object met before
// is {"$ref": where}; absent values are left out, names are lowerCamelCase, keys are sorted.

import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { createRequire } from "node:module";
import { compileFile, messageOf } from "../../tools/ksc.mjs";

const require = createRequire(import.meta.url);
const compiler = require("kaitai-struct-compiler");
const KaitaiStream = require("kaitai-struct/KaitaiStream");

const loaded = new Map();

async function classFor(spec) {
  if (!loaded.has(spec)) {
    const scope = { KaitaiStream };
    const outputs = await compileFile(compiler, spec, "javascript", true);
    for (const text of Object.values(outputs)) new Function("self", "exports", "define", "module", text)(scope);
    const name = path
      .basename(spec, ".ksy")
      .split("_")
      .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
      .join("");
    if (!scope[name]) throw new Error(`${spec}: the compiler made no class ${name}`);
    loaded.set(spec, scope[name][name]);
  }
  return loaded.get(spec);
}

function getters(object) {
  const found = [];
  for (let proto = Object.getPrototypeOf(object); proto && proto !== Object.prototype; proto = Object.getPrototypeOf(proto))
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(proto)))
      if (property.get && !name.startsWith("_")) found.push(name);
  return found;
}

function visit(value, where, state) {
  state.nodes += 1;
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? value : { $float: String(value) };
  if (typeof value !== "object") return value;
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString("base64") };
  if (Array.isArray(value)) return value.map((item, index) => visit(item, `${where}/${index}`, state) ?? null);
  if (state.seen.has(value)) return { $ref: state.seen.get(value) };
  state.seen.set(value, where);
  const tree = { $type: value.constructor.name };
  const own = Object.keys(value).filter((name) => !name.startsWith("_"));
  for (const name of [...new Set([...own, ...getters(value)])].sort()) {
    let inner;
    try {
      inner = value[name];
    } catch (error) {
      state.errors.push(`${where}/${name}: ${messageOf(error)}`);
      continue;
    }
    const plain = visit(inner, `${where}/${name}`, state);
    if (plain !== undefined) tree[name] = plain;
  }
  for (const [name, mark] of Object.entries(value._debug ?? {})) {
    if (mark && mark.start !== undefined && mark.end === undefined) state.incomplete.push(`${where}/${name}`);
    for (const [index, item] of (mark?.arr ?? []).entries())
      if (item && item.end === undefined) state.incomplete.push(`${where}/${name}/${index}`);
  }
  return tree;
}

async function open({ spec, sample, args }) {
  const state = { nodes: 0, errors: [], incomplete: [], seen: new Map() };
  let tree = null;
  try {
    const type = await classFor(spec);
    const data = fs.readFileSync(sample);
    const buffer = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
    const root = new type(new KaitaiStream(buffer, 0), null, null, ...(args ?? []));
    try {
      root._read();
    } catch (error) {
      state.errors.push(messageOf(error));
    }
    tree = visit(root, "", state);
  } catch (error) {
    state.errors.push(messageOf(error));
  }
  return { error: state.errors.join("; ") || null, incomplete: state.incomplete, nodes: state.nodes, tree };
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const results = [];
  for (const item of JSON.parse(line)) results.push(await open(item));
  process.stdout.write(`${JSON.stringify(results)}\n`);
}
