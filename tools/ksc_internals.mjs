// Two things the JavaScript build of the compiler can do but does not offer, for tests and lint only: read-write
// Python classes, and the style warnings it computes and drops.  The text of the pinned version is rewritten before
// it is loaded; anything unexpected in it is an error.  What users get is compiled without this file.
//
//   node tools/ksc_internals.mjs readwrite --out DIR FILE.ksy...
//   node tools/ksc_internals.mjs warnings FILE.ksy...        prints {file: [text...]} as JSON; an error is the last text

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { compileFile, messageOf } from "./ksc.mjs";

const require = createRequire(import.meta.url);

const CONFIG = "RuntimeConfig((!debug), debug, false, true, false, "; // autoRead, readStoresPos, opaque, zeroCopy, readWrite
const CONFIG_READ_WRITE = "RuntimeConfig(false, false, false, false, true, ";
const PROBLEMS = "var problems = $as_sc_Iterable(problems$2);";
const REPORT = `${PROBLEMS}
    for (var walk = $n(problems).iterator__sc_Iterator(); $n(walk).hasNext__Z(); ) reportProblem($n(walk).next__O().message__T());`;

function replaceOnce(text, wanted, replacement) {
  const parts = text.split(wanted);
  if (parts.length !== 2) throw new Error(`this compiler is not the expected one: ${parts.length - 1} times ${wanted}`);
  return parts.join(replacement);
}

export function patchedCompiler({ readWrite = false, onProblem = () => {} } = {}) {
  let text = fs.readFileSync(require.resolve("kaitai-struct-compiler"), "utf8");
  if (readWrite) text = replaceOnce(text, CONFIG, CONFIG_READ_WRITE);
  text = replaceOnce(text, PROBLEMS, REPORT);
  const module = { exports: {} };
  new Function("module", "reportProblem", text)(module, onProblem);
  return module.exports;
}

async function main(argv) {
  const [command, ...rest] = argv;
  if (command === "warnings") {
    const found = {};
    let texts;
    const compiler = patchedCompiler({ onProblem: (text) => texts.push(text) });
    for (const file of rest) {
      found[file] = texts = [];
      try {
        await compileFile(compiler, file, "python", false);
      } catch (error) {
        texts.push(messageOf(error));
      }
    }
    console.log(JSON.stringify(found));
  } else if (command === "readwrite" && rest[0] === "--out") {
    const [, out, ...files] = rest;
    const compiler = patchedCompiler({ readWrite: true });
    fs.mkdirSync(out, { recursive: true });
    for (const file of files)
      for (const [name, text] of Object.entries(await compileFile(compiler, file, "python", false)))
        fs.writeFileSync(path.join(out, name), text);
  } else {
    throw new Error("usage: ksc_internals.mjs readwrite --out DIR FILE.ksy... | warnings FILE.ksy...");
  }
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fs.realpathSync(fileURLToPath(import.meta.url))) {
  main(process.argv.slice(2)).catch((error) => {
    console.error(messageOf(error));
    process.exitCode = 1;
  });
}
