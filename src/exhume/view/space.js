"use strict";
// Address spaces: files and decompressed payloads, in parts that are loaded when they are looked at.  A page that is a file
// holds some of the parts only; what it does not hold is one line that says so.
const CHUNK = 16384;
const MOST_PARTS = 256; // parts of a served space that are kept

const inflated = new Map();
async function inflate(id) {
  if (!inflated.has(id)) {
    inflated.set(id, (async () => {
      const raw = Uint8Array.from(atob(document.getElementById("c" + id).textContent), (c) => c.charCodeAt(0));
      const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
      return new Uint8Array(await new Response(stream).arrayBuffer());
    })());
  }
  return inflated.get(id);
}

class Space {
  constructor(described, load, loaded) {
    Object.assign(this, described);
    this.grid = described.grid === undefined ? null : new Map(described.grid); // null: every part can be had
    this.bytes = new Map(); // part of the grid -> bytes, for drawing without waiting
    this.waiting = new Set();
    this.onload = loaded;
    this.chunk = load;
  }

  holds(at) { return at >= this.base && at < this.base + this.size; }

  // Lines of `width` bytes; what is not on the page is one line.  Each part: first line, lines, first byte, bytes.
  layOut(width) {
    this.width = width;
    this.parts = [];
    const add = (at, size, here) => {
      const last = this.parts[this.parts.length - 1];
      if (last && last.here === here) { last.size += size; last.lines = here ? Math.ceil(last.size / width) : 1; }
      else this.parts.push({ line: last ? last.line + last.lines : 0, lines: here ? Math.ceil(size / width) : 1, at, size, here });
    };
    let at = 0;
    for (const index of this.grid === null ? [] : [...this.grid.keys()].sort((a, b) => a - b)) {
      const start = index * CHUNK, end = Math.min(this.size, start + CHUNK);
      if (start > at) add(at, start - at, false);
      add(start, end - start, true);
      at = end;
    }
    if (at < this.size) add(at, this.size - at, this.grid === null);
    const last = this.parts[this.parts.length - 1];
    this.lines = last ? last.line + last.lines : 1;
  }

  partOfLine(line) {
    let low = 0, high = this.parts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.parts[middle].line <= line) low = middle; else high = middle - 1;
    }
    return this.parts[low];
  }

  lineOf(at) {
    const relative = Math.max(0, Math.min(this.size - 1, at - this.base));
    const part = this.parts.findLast((one) => one.at <= relative);
    return part ? part.line + (part.here ? Math.floor((relative - part.at) / this.width) : 0) : 0;
  }

  // What a line shows: {at, data} (data is null until it is loaded), or {at, missing: bytes}.
  line(index) {
    const part = this.partOfLine(index);
    if (!part) return { at: this.base, data: [] };
    if (!part.here) return { at: this.base + part.at, missing: part.size };
    const relative = part.at + (index - part.line) * this.width, data = [];
    for (let at = relative; at < Math.min(relative + this.width, part.at + part.size); at++) {
      const chunk = this.bytes.get(Math.floor(at / CHUNK));
      if (!chunk) { this.load(Math.floor(at / CHUNK)); return { at: this.base + relative, data: null }; }
      if (at % CHUNK >= chunk.length) break; // it could not be read
      data.push(chunk[at % CHUNK]);
    }
    return { at: this.base + relative, data };
  }

  load(part) {
    if (this.waiting.has(part)) return;
    this.waiting.add(part);
    this.chunk(this, part).catch(() => new Uint8Array()).then((bytes) => {
      this.waiting.delete(part);
      if (this.grid === null && this.bytes.size >= MOST_PARTS) this.bytes.delete(this.bytes.keys().next().value);
      this.bytes.set(part, bytes);
      this.onload();
    });
  }
}
