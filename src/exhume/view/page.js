"use strict";
// Hex on the left, fields on the right, a map between them.  Both lists draw only the rows in view; bytes and field trees
// are inflated from their chunks when they are looked at.
(() => {
  const ROW = 20, WIDTH = 16, CHUNK = 65536, OVERSCAN = 8;
  // Browsers stop growing elements at about 33 million pixels: taller lists are scaled.
  const TALLEST = 16000000;
  const contents = JSON.parse(document.getElementById("contents").textContent);
  const kinds = ["structure", "data", "checksum", "padding", "gap", "unread"];
  const el = (tag, props = {}, ...kids) => {
    const made = Object.assign(document.createElement(tag), props);
    made.append(...kids);
    return made;
  };

  const title = el("h1", { textContent: contents.target, title: contents.target });
  const errors = contents.findings.filter((f) => f.severity === "error").length;
  const verdict = el("span", {
    className: "verdict " + (!contents.verified ? "unchecked" : errors ? "bad" : "ok"), id: "verdict",
    textContent: !contents.verified ? "not verified" : errors ? `${errors} error${errors === 1 ? "" : "s"}` : "no errors found",
    title: contents.findings.map((f) => f.text).join("\n"),
  });
  const spaces = el("select", { id: "space", title: "file or decompressed payload" });
  contents.spaces.forEach((s, i) => spaces.append(el("option", { value: String(i), textContent: `${s.name} (${s.size} bytes)` })));
  const search = el("input", { id: "search", type: "search", placeholder: "field name, or offset 0x…", autocomplete: "off" });
  const theme = el("button", { type: "button", id: "theme", textContent: "◐", title: "dark or light" });
  const form = el("form", {}, spaces, search, theme);
  const header = el("header", {}, title, el("span", { textContent: contents.format }), verdict, form);
  const hex = el("div", { id: "hex", className: "pane", tabIndex: 0 });
  hex.setAttribute("role", "grid");
  hex.setAttribute("aria-label", "bytes");
  const tree = el("div", { id: "tree", className: "pane", tabIndex: 0 });
  tree.setAttribute("role", "tree");
  tree.setAttribute("aria-label", "fields");
  const map = el("canvas", { id: "map", title: "the whole file" });
  const detail = el("div", { id: "detail" });
  const keys = el("div", { className: "keys" });
  keys.innerHTML = "<kbd>/</kbd> search <kbd>↑↓</kbd> move <kbd>←→</kbd> fold <kbd>n</kbd> next finding";
  document.body.append(header, el("main", {}, hex, map, tree), el("footer", {}, detail, keys));

  document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  theme.onclick = () => {
    const root = document.documentElement;
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    drawMap();
  };

  // ---- chunks ----
  const inflated = new Map();
  async function chunk(index) {
    if (!inflated.has(index)) {
      inflated.set(index, (async () => {
        const text = document.getElementById("c" + index).textContent;
        const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
        const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
        return new Uint8Array(await new Response(stream).arrayBuffer());
      })());
    }
    return inflated.get(index);
  }
  const loaded = new Map(); // chunk index -> bytes, for drawing without waiting
  function bytesAt(space, relative, count) {
    const out = [];
    for (let at = relative; at < Math.min(relative + count, space.size); at++) {
      const index = space.first + Math.floor(at / CHUNK);
      const data = loaded.get(index);
      if (!data) {
        chunk(index).then((bytes) => { if (!loaded.has(index)) { loaded.set(index, bytes); drawHex(); } });
        return null;
      }
      out.push(data[at % CHUNK]);
    }
    return out;
  }

  // ---- the field list: sections, opened on demand ----
  // A node: {n, t, v, d, r, c, o, s, e, p, k (children), depth, open, parent, section}
  const roots = contents.sections.map((section, i) => ({
    n: section.name, t: [section.kind, section.codec].filter(Boolean).join(", "), d: section.note, s: section.start, e: section.end,
    p: section.space, depth: section.nested ? 1 : 0, open: false, parent: null, section, index: i, isSection: true,
    more: section.skipped, kids: null,
  }));
  let rows = roots.slice();
  let selected = null, hovered = null, space = 0, cursor = null;

  function adopt(node, parent) {
    node.parent = parent; node.depth = parent.depth + 1; node.open = false;
    node.section = parent.section;
    return node;
  }
  async function childrenOf(node) {
    if (node.kids) return node.kids;
    if (!node.isSection) { node.kids = (node.k || []).map((kid) => adopt(kid, node)); return node.kids; }
    const kids = [];
    for (const key of ["tree", "payload"]) {
      if (node.section[key] === undefined) continue;
      const parsed = JSON.parse(new TextDecoder().decode(await chunk(node.section[key])));
      if (key === "payload") parsed.n += " (decompressed)";
      kids.push(adopt(parsed, node));
    }
    node.kids = kids;
    return kids;
  }
  const foldable = (node) => node.isSection ? node.section.tree !== undefined || node.section.payload !== undefined : !!(node.k && node.k.length);
  async function setOpen(node, open) {
    if (node.open === open || !foldable(node)) return;
    const kids = await childrenOf(node);
    if (node.open === open) return;
    node.open = open;
    const at = rows.indexOf(node);
    if (at >= 0) {
      if (open) rows.splice(at + 1, 0, ...kids.flatMap(visible));
      else {
        let end = at + 1;
        while (end < rows.length && isBelow(rows[end], node)) end++;
        rows.splice(at + 1, end - at - 1);
      }
    }
    drawTree();
  }
  function visible(node) { return node.open && node.kids ? [node, ...node.kids.flatMap(visible)] : [node]; }
  function isBelow(node, ancestor) {
    for (let up = node.parent; up; up = up.parent) if (up === ancestor) return true;
    return false;
  }
  async function reveal(node) {
    const chain = [];
    for (let up = node.parent; up; up = up.parent) chain.unshift(up);
    for (const up of chain) await setOpen(up, true);
  }

  // ---- lists that draw only what is in view ----
  function list(pane, count, draw) {
    const spacer = el("div", { className: "spacer" });
    pane.append(spacer);
    const state = { top: 0 };
    const total = () => count() * ROW;
    const scale = () => Math.max(1, total() / TALLEST);
    function paint() {
      spacer.style.height = Math.min(total(), TALLEST) + "px";
      const shown = Math.ceil(pane.clientHeight / ROW) + OVERSCAN;
      const first = Math.max(0, Math.min(count() - 1, Math.floor(pane.scrollTop * scale() / ROW)));
      const shift = scale() > 1 ? pane.scrollTop - first * ROW : 0;
      state.top = first;
      const made = [];
      for (let i = Math.max(0, first - (scale() > 1 ? 0 : OVERSCAN)); i < Math.min(count(), first + shown); i++) {
        const row = draw(i);
        row.classList.add("row");
        row.style.top = i * ROW + shift + "px";
        made.push(row);
      }
      spacer.replaceChildren(...made);
    }
    pane.addEventListener("scroll", () => { requestAnimationFrame(paint); if (pane === hex) requestAnimationFrame(drawMap); });
    new ResizeObserver(paint).observe(pane);
    return {
      paint,
      show(i) {
        const at = i * ROW / scale();
        if (at < pane.scrollTop + ROW || at > pane.scrollTop + pane.clientHeight - 3 * ROW) pane.scrollTop = Math.max(0, at - pane.clientHeight / 3);
        paint();
      },
    };
  }

  const current = () => contents.spaces[space];
  const hexList = list(hex, () => Math.ceil(current().size / WIDTH) || 1, drawHexRow);
  const treeList = list(tree, () => rows.length, drawTreeRow);
  function drawHex() { hexList.paint(); }
  function drawTree() { treeList.paint(); }

  const gapsOf = new Map();
  contents.sections.forEach((s) => {
    if (s.kind === "gap" || s.kind === "unread") { if (!gapsOf.has(s.space)) gapsOf.set(s.space, []); gapsOf.get(s.space).push(s); }
  });
  const within = (node, at) => node && node.p === space && node.s !== undefined && at >= node.s && at < node.e;
  function classesAt(at) {
    let names = "";
    if (within(selected, at)) names += " sel";
    else if (within(hovered, at)) names += " hov";
    if (contents.findings.some((f) => f.severity === "error" && f.space === space && at >= f.start && at < f.end)) names += " bad";
    else if ((gapsOf.get(space) || []).some((g) => at >= g.start && at < g.end)) names += " gap";
    if (cursor === at) names += " cur";
    return names;
  }
  function drawHexRow(index) {
    const row = el("div");
    const relative = index * WIDTH, at = current().base + relative;
    row.append(el("span", { className: "off", textContent: at.toString(16).padStart(8, "0") + "  " }));
    const data = bytesAt(current(), relative, WIDTH);
    if (!data) { row.append("…"); return row; }
    const text = el("span");
    data.forEach((byte, i) => {
      const names = classesAt(at + i);
      const one = el("span", { className: "b" + names, textContent: byte.toString(16).padStart(2, "0") });
      const chr = el("span", { className: "a" + names, textContent: byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·" });
      one.dataset.at = chr.dataset.at = String(at + i);
      row.append(one);
      text.append(chr);
    });
    row.append(" ".repeat((WIDTH - data.length) * 3 + 1), text);
    return row;
  }
  function drawTreeRow(index) {
    const node = rows[index];
    const row = el("div", { className: (node.isSection ? "section" : "") + (node === selected ? " here" : "") });
    row.setAttribute("role", "treeitem");
    row.dataset.row = String(index);
    row.append("  ".repeat(node.depth), el("span", { className: "tw", textContent: foldable(node) ? (node.open ? "▾" : "▸") : "" }));
    row.append(el("span", { className: "name", textContent: node.n }));
    if (node.s !== undefined) row.append(el("span", { className: "off", textContent: `  ${node.s}+${node.e - node.s}` }));
    if (node.t) row.append(el("span", { className: "type", textContent: "  " + node.t }));
    if (node.v !== undefined) row.append("  ", el("span", { className: "val", textContent: String(node.v) }));
    if (node.c) row.append("  ", el("span", { className: { matches: "ok", mismatch: "badtext" }[node.w] || "unchecked", textContent: `[${node.c}]` }));
    if (node.section.bad && node.isSection) row.append("  ", el("span", { className: "badtext", textContent: "checksum mismatch" }));
    if (node.more) row.append(el("span", { className: "doc", textContent: `  … ${node.more} of this sort in all` }));
    if (node.o) row.append("  ", el("span", { className: "badtext", textContent: node.o }));
    if (node.d) row.append(el("span", { className: "doc", textContent: "  " + node.d.slice(0, 160) }));
    return row;
  }

  // ---- selecting ----
  function describe(node) {
    detail.replaceChildren();
    if (!node) return;
    const path = [];
    for (let up = node; up; up = up.parent) path.unshift(up.n);
    const place = node.s === undefined ? "" : ` ${node.p === undefined || contents.spaces[node.p].kind === "file" ? "" : "payload "}offset ${node.s} (0x${node.s.toString(16)}), ${node.e - node.s} bytes`;
    detail.append(el("b", { textContent: path.join(" › ") }), place, node.v === undefined ? "" : `  = ${node.v}`, node.c ? `  [${node.c}]` : "",
      node.d ? `  ${node.d}` : "", node.r ? `  (${node.r})` : "");
    detail.title = detail.textContent;
  }
  function setSpace(index) {
    space = index;
    spaces.value = String(index);
    hex.scrollTop = 0;
  }
  function select(node, { scrollHex = true, scrollTree = true } = {}) {
    selected = node;
    describe(node);
    if (node && node.s !== undefined) {
      if (node.p !== space) setSpace(node.p);
      if (scrollHex) hexList.show(Math.floor((node.s - current().base) / WIDTH));
      cursor = node.s;
    }
    const at = rows.indexOf(node);
    if (scrollTree && at >= 0) treeList.show(at);
    drawHex(); drawTree(); drawMap();
  }
  async function innermost(at) {
    let best = null, depth = -1;
    async function descend(node, level) {
      if (node.p !== space || node.s === undefined || at < node.s || at >= node.e) return;
      if (level > depth) { best = node; depth = level; }
      for (const kid of await childrenOf(node)) await descend(kid, level + 1);
    }
    for (const root of roots) {
      const inPayload = root.section.payload_space === space;
      if (inPayload) { for (const kid of await childrenOf(root)) await descend(kid, 1); }
      else await descend(root, root.depth);
    }
    return best;
  }
  async function go(at) {
    const node = await innermost(at);
    cursor = at;
    if (node) { await reveal(node); select(node, { scrollHex: false }); }
    cursor = at;
    hexList.show(Math.floor((at - current().base) / WIDTH));
  }

  hex.addEventListener("click", (event) => { const at = event.target.dataset && event.target.dataset.at; if (at) go(Number(at)); });
  hex.addEventListener("mousemove", async (event) => {
    const at = event.target.dataset && event.target.dataset.at;
    if (!at) return;
    const node = await innermost(Number(at));
    if (node !== hovered) { hovered = node; drawHex(); if (node) describe(node); }
  });
  hex.addEventListener("mouseleave", () => { hovered = null; drawHex(); describe(selected); });
  const nodeOf = (event) => { const row = event.target.closest(".row"); return row ? rows[Number(row.dataset.row)] : null; };
  tree.addEventListener("click", (event) => {
    const node = nodeOf(event);
    if (!node) return;
    if (event.target.classList.contains("tw")) setOpen(node, !node.open);
    else select(node, { scrollTree: false });
  });
  tree.addEventListener("dblclick", (event) => { const node = nodeOf(event); if (node) setOpen(node, !node.open); });
  tree.addEventListener("mousemove", (event) => { const node = nodeOf(event); if (node !== hovered) { hovered = node; drawHex(); if (node) describe(node); } });
  tree.addEventListener("mouseleave", () => { hovered = null; drawHex(); describe(selected); });
  spaces.onchange = () => { setSpace(Number(spaces.value)); drawHex(); drawMap(); };

  // ---- searching: an offset, or the next field whose name or value holds the text ----
  async function* everyNode() {
    async function* below(node) { yield node; for (const kid of await childrenOf(node)) yield* below(kid); }
    for (const root of roots) yield* below(root);
  }
  async function find(text) {
    const number = /^0x[0-9a-f]+$/i.test(text) || /^\d+$/.test(text) ? Number(text) : NaN;
    if (!Number.isNaN(number)) { await go(number); return; }
    const wanted = text.toLowerCase();
    let first = null, passed = selected === null;
    for await (const node of everyNode()) {
      const hit = node.n.toLowerCase().includes(wanted) || (typeof node.v === "string" && node.v.toLowerCase().includes(wanted));
      if (hit && passed && node !== selected) { await reveal(node); select(node); return; }
      if (hit && !first) first = node;
      if (node === selected) passed = true;
    }
    if (first) { await reveal(first); select(first); } else detail.textContent = `nothing named ${text}`;
  }
  form.addEventListener("submit", (event) => { event.preventDefault(); if (search.value.trim()) find(search.value.trim()); });

  // ---- keys ----
  let finding = -1;
  document.addEventListener("keydown", async (event) => {
    if (event.target === search) { if (event.key === "Escape") { search.blur(); tree.focus(); } return; }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") { event.preventDefault(); search.focus(); search.select(); return; }
    if (event.key === "n" && contents.findings.length) {
      const placed = contents.findings.filter((f) => f.space !== null && f.start !== null && f.end > f.start);
      if (!placed.length) return;
      finding = (finding + 1) % placed.length;
      setSpace(placed[finding].space);
      await go(placed[finding].start);
      detail.textContent = placed[finding].text;
      return;
    }
    if (document.activeElement === hex && cursor !== null && event.key.startsWith("Arrow")) {
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -WIDTH, ArrowDown: WIDTH }[event.key];
      event.preventDefault();
      await go(Math.max(current().base, Math.min(current().base + current().size - 1, cursor + step)));
      return;
    }
    const at = rows.indexOf(selected);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const next = rows[Math.max(0, Math.min(rows.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)))];
      if (next) select(next);
    } else if (event.key === "ArrowRight" && selected) {
      event.preventDefault();
      if (!selected.open) await setOpen(selected, true); else if (selected.kids && selected.kids[0]) select(selected.kids[0]);
    } else if (event.key === "ArrowLeft" && selected) {
      event.preventDefault();
      if (selected.open) await setOpen(selected, false); else if (selected.parent) select(selected.parent);
    } else if (event.key === "Home" && rows.length) { event.preventDefault(); select(rows[0]); }
    else if (event.key === "End" && rows.length) { event.preventDefault(); select(rows[rows.length - 1]); }
  });

  // ---- the map ----
  function drawMap() {
    const ratio = devicePixelRatio || 1, width = 26, height = map.parentElement.clientHeight;
    if (!height) return;
    map.style.height = height + "px";
    map.width = width * ratio; map.height = height * ratio;
    const paint = map.getContext("2d");
    paint.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const here = current();
    const y = (at) => here.size ? (at - here.base) / here.size * height : 0;
    for (const s of contents.sections) {
      if (s.space !== space || s.nested || s.skipped) continue;
      paint.fillStyle = style.getPropertyValue("--" + (kinds.includes(s.kind) ? s.kind : "data"));
      paint.fillRect(4, y(s.start), width - 8, Math.max(1, y(s.end) - y(s.start)));
    }
    paint.fillStyle = style.getPropertyValue("--bad");
    for (const f of contents.findings) if (f.severity === "error" && f.space === space && f.start !== null) paint.fillRect(0, y(f.start), width, 2);
    if (selected && selected.p === space && selected.s !== undefined) {
      paint.fillStyle = style.getPropertyValue("--accent");
      paint.fillRect(0, y(selected.s), 4, Math.max(2, y(selected.e) - y(selected.s)));
    }
    const total = Math.max(1, Math.ceil(here.size / WIDTH)), seen = hex.clientHeight / ROW;
    const top = hex.scrollHeight > hex.clientHeight ? hex.scrollTop / (hex.scrollHeight - hex.clientHeight) * Math.max(0, height - height * Math.min(1, seen / total)) : 0;
    paint.strokeStyle = style.getPropertyValue("--text");
    paint.strokeRect(1, top + 0.5, width - 2, Math.max(3, height * Math.min(1, seen / total) - 1));
  }
  map.addEventListener("click", (event) => {
    const here = current();
    go(here.base + Math.min(here.size - 1, Math.floor(event.offsetY / map.clientHeight * here.size)));
  });
  new ResizeObserver(drawMap).observe(hex);
  select(rows[0] || null, { scrollHex: false });
  drawMap();
  document.documentElement.dataset.ready = "yes";
  window.exhume = { contents, go, find, state: () => ({ space, cursor, selected: selected && selected.n, rows: rows.length }) };
})();
