// A small command line around the JavaScript build of kaitai-struct-compiler, which comes without one.
//
//   node tools/ksc.mjs compile --target python [--out DIR] [--debug-out DIR] FILE.ksy...
//   node tools/ksc.mjs each --imports FOLDER --out DIR FILE.ksy...
//                                              writes debug classes for Python of each into DIR/NUMBER/, with imports
//                                              from anywhere below FOLDER; prints {file: error or null}
//   node tools/ksc.mjs dump FILE.ksy...        prints {file: {"spec": ...} or {"error": ...}} as JSON
//   node tools/ksc.mjs targets --out DIR LANGUAGE,... FILE.ksy...
//                                              writes DIR/LANGUAGE/..., prints {language: {file: error or null}}
//   node tools/ksc.mjs versions
//   node tools/ksc.mjs serve FOLDER            answers each line of JSON, {"name", "spec"}, with a line of JSON,
//                                              {"text"} or {"error"}: that specification, compiled to Python
//
// The YAML is read as the Web IDE reads it (js-yaml, CORE_SCHEMA), so both trip over the same things.
// Imports are looked up beside the importing file; absolute ones are refused, because they only exist in the
// Web IDE.  Everything is compiled before anything is written.

import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);

export function compilerVersions() {
  return ["js-yaml", "kaitai-struct-compiler"].map((name) => [name, require(`${name}/package.json`).version]);
}

export function loadSpec(file) {
  const YAML = require("js-yaml");
  return YAML.load(fs.readFileSync(file, "utf8"), { schema: YAML.CORE_SCHEMA, filename: file });
}

export function importerFor(folder) {
  return {
    async importYaml(name, mode) {
      if (mode === "abs") throw new Error(`absolute import /${name}: only imports of sibling files work everywhere`);
      return loadSpec(path.join(folder, `${name}.ksy`));
    },
  };
}

export function messageOf(error) {
  if (error && typeof error.getMessage__T === "function") return error.getMessage__T();
  return error instanceof Error ? error.message : String(error);
}

export async function compileFile(compiler, file, target, debug) {
  try {
    return await compiler.compile(target, loadSpec(file), importerFor(path.dirname(file)), debug);
  } catch (error) {
    throw new Error(`${file}: ${messageOf(error)}`);
  }
}

function dump(file) {
  try {
    return { spec: loadSpec(file) };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

async function compileAll(target, folders, files) {
  const compiler = require("kaitai-struct-compiler");
  const outputs = new Map();
  for (const { folder, debug } of folders) {
    for (const file of files) {
      for (const [name, text] of Object.entries(await compileFile(compiler, file, target, debug))) {
        const out = path.join(folder, name);
        if (outputs.has(out) && outputs.get(out) !== text) throw new Error(`${file}: two different outputs named ${name}`);
        outputs.set(out, text);
      }
    }
  }
  for (const { folder } of folders) fs.mkdirSync(folder, { recursive: true });
  for (const [out, text] of outputs) fs.writeFileSync(out, text);
}

async function compileTargets(out, languages, files) {
  const compiler = require("kaitai-struct-compiler");
  const verdicts = {};
  for (const language of languages) {
    verdicts[language] = {};
    for (const file of files) {
      try {
        for (const [name, text] of Object.entries(await compileFile(compiler, file, language, false))) {
          const place = path.join(out, language, name);
          fs.mkdirSync(path.dirname(place), { recursive: true });
          fs.writeFileSync(place, text);
        }
        verdicts[language][file] = null;
      } catch (error) {
        verdicts[language][file] = messageOf(error);
      }
    }
  }
  return verdicts;
}

function below(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const found = path.join(folder, entry.name);
    return entry.isDirectory() ? below(found) : found.endsWith(".ksy") ? [found] : [];
  });
}

async function compileEach(folder, out, files) {
  const compiler = require("kaitai-struct-compiler");
  const all = below(folder);
  const verdicts = {};
  for (const [number, file] of files.entries()) {
    const importer = {
      async importYaml(name, mode) { // the compiler does not tell which file imports
        const beside = path.join(mode === "abs" ? folder : path.dirname(file), `${name}.ksy`);
        return loadSpec(fs.existsSync(beside) ? beside : all.find((one) => one.endsWith(`/${path.basename(name)}.ksy`)));
      },
    };
    verdicts[file] = null;
    try {
      const place = path.join(out, String(number));
      fs.mkdirSync(place, { recursive: true });
      for (const [name, text] of Object.entries(await compiler.compile("python", loadSpec(file), importer, true))) {
        fs.writeFileSync(path.join(place, name), text);
      }
    } catch (error) {
      verdicts[file] = messageOf(error);
    }
  }
  return verdicts;
}

async function serve(folder) {
  const compiler = require("kaitai-struct-compiler");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { name, spec } = JSON.parse(line);
    let answer;
    try {
      answer = { text: (await compiler.compile("python", spec, importerFor(folder), false))[`${name}.py`] };
    } catch (error) {
      answer = { error: messageOf(error) };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
}

async function main(argv) {
  const [command, ...rest] = argv;
  if (command === "targets" && rest[0] === "--out") {
    const [, out, languages, ...files] = rest;
    console.log(JSON.stringify(await compileTargets(out, languages.split(","), files)));
    return;
  }
  if (command === "each" && rest[0] === "--imports" && rest[2] === "--out") {
    const [, folder, , out, ...files] = rest;
    console.log(JSON.stringify(await compileEach(folder, out, files)));
    return;
  }
  if (command === "serve") return serve(rest[0]);
  if (command === "versions") {
    for (const [name, version] of compilerVersions()) console.log(`${name} ${version}`);
    return;
  }
  if (command === "dump") {
    console.log(JSON.stringify(Object.fromEntries(rest.map((file) => [file, dump(file)]))));
    return;
  }
  if (command !== "compile") {
    throw new Error("usage: ksc.mjs compile --target NAME [--out DIR] [--debug-out DIR] FILE... | each ... | dump FILE... | versions | serve FOLDER");
  }
  let target = "python";
  const folders = [];
  const files = [];
  while (rest.length > 0) {
    const word = rest.shift();
    if (word === "--target") target = rest.shift();
    else if (word === "--out") folders.push({ folder: rest.shift(), debug: false });
    else if (word === "--debug-out") folders.push({ folder: rest.shift(), debug: true });
    else if (word.startsWith("--")) throw new Error(`unknown option ${word}`);
    else files.push(word);
  }
  if (folders.length === 0) throw new Error("--out or --debug-out is missing");
  await compileAll(target, folders, files);
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fs.realpathSync(fileURLToPath(import.meta.url))) {
  main(process.argv.slice(2)).catch((error) => {
    console.error(messageOf(error));
    process.exitCode = 1;
  });
}
