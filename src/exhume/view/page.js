// Hex on the left, fields on the right, a map between them.  The address bar names what is selected.
(async () => {
  const here = document.getElementById("contents");
  const source = here ? embedded(JSON.parse(here.textContent)) : served();
  let contents;
  try { contents = await source.contents(); } catch (error) { document.body.append(String(error)); return; }
  document.title = `${contents.target} – exhume ${source.served ? "explore" : "explain"}`;
  const KINDS = ["structure", "data", "checksum", "padding", "gap", "unread"];
  const narrow = matchMedia("(max-width: 900px)"), slim = matchMedia("(max-width: 600px)");
  let width = slim.matches ? 8 : 16;

  // ---- the parts of the page ----
  const title = el("h1", { textContent: contents.target });
  const isProblem = (f) => f.severity === "error" || f.severity === "unchecked";
  const verdict = el("button", { type: "button", id: "verdict" });
  const waits = () => source.served && contents.state === "waiting" && contents.verifies !== null;
  function showVerdict() {
    const asks = waits(), { length } = contents.findings;
    verdict.className = "verdict " + contents.verdict;
    verdict.textContent = asks ? (contents.kind === "image" ? "search for archives" : "check now") : contents.failure || contents.summary;
    verdict.disabled = !asks && !length;
    verdict.title = asks ? "nothing was checked yet" : length ? "show the next finding (n)" : "";
  }
  showVerdict();
  const names = el("select", { id: "space", title: "file or decompressed payload" });
  names.setAttribute("aria-label", "address space");
  contents.spaces.forEach((s, i) => names.append(el("option", { value: String(i), textContent: `${s.name} (${s.size} bytes)` })));
  const search = el("input", { id: "search", type: "search", placeholder: "field, text, or offset 0x…", autocomplete: "off" });
  search.setAttribute("aria-label", "search");
  const theme = el("button", { type: "button", id: "theme", textContent: "◐", title: "dark or light" });
  theme.setAttribute("aria-label", "dark or light");
  const form = el("form", {}, names, search, theme);
  const tools = el("nav", { id: "tools" });
  if (source.served) {
    tools.setAttribute("aria-label", "archive");
    if (source.archive !== null) tools.append(el("a", { href: "./", textContent: "back to the image" }));
    if (contents.kind === "archive") tools.append(el("a", { href: source.download({}), textContent: "save", title: "save these bytes as a file" }));
  }
  const header = el("header", {}, title, el("span", { textContent: contents.format }), verdict, tools, form);
  const swatch = (kind, text) => el("span", { className: "swatch" }, el("i", { className: kind }), text);
  const legend = el("details", { id: "legend", open: !narrow.matches }, el("summary", { textContent: "legend" }),
    swatch("sel", "selected"), swatch("bad", "damaged"), swatch("sel bad", "both"), swatch("gap", "nothing claims it"),
    "on the map: ", ...KINDS.map((kind) => swatch("kind-" + kind, kind)));
  const hex = el("div", { id: "hex", className: "pane", tabIndex: 0 });
  hex.setAttribute("role", "group");
  hex.setAttribute("aria-label", "bytes");
  const tree = el("div", { id: "tree", className: "pane", tabIndex: 0 });
  tree.setAttribute("role", "tree");
  tree.setAttribute("aria-label", "fields");
  const map = el("canvas", { id: "map" });
  const detail = el("div", { id: "detail", tabIndex: 0 }); // it scrolls where a window is small
  detail.setAttribute("role", "region");
  detail.setAttribute("aria-label", "details");
  detail.setAttribute("aria-live", "polite");
  const keys = el("div", { className: "keys" });
  keys.innerHTML = "<kbd>/</kbd> search <kbd>↑↓</kbd> move <kbd>←→</kbd> fold <kbd>n</kbd> next finding <kbd>c</kbd> copy link" + (contents.searchable ? " <kbd>r</kbd> records" : "");
  const aside = el("section", {}, legend);
  aside.setAttribute("aria-label", "legend");
  document.body.append(header, aside, el("main", {}, hex, map, tree), el("footer", {}, detail, keys));

  document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  theme.onclick = () => {
    const root = document.documentElement;
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    picture.draw();
  };

  const spaces = [];
  function addSpace(described) {
    const known = spaces.find((one) => one.kind === "payload" && one.name === described.name);
    if (known) { known.section = described.section; return known.number; }
    const made = new Space({ ...described, number: spaces.length }, source.chunk, () => drawHex());
    made.layOut(width);
    spaces.push(made);
    if (names.options.length < spaces.length) names.append(el("option", { value: String(spaces.length - 1), textContent: `${made.name} (${made.size} bytes)` }));
    return made.number;
  }
  contents.spaces.forEach(addSpace);

  // ---- the field list ----
  const fields = fieldsOf(source, contents, { addSpace, draw: () => drawTree(), say: (text) => { detail.textContent = text; } });
  const { roots, rows, layOutRoots, rootOf, rowAt, rowOf, childrenOf, foldable, setOpen, turn, reveal } = fields;
  if (!source.served) await fields.load(0, contents.count);
  let selected = null, hovered = null, space = 0, cursor = null;
  // Selects an element of the array that is selected or around what is.
  async function element(number) {
    let node = selected;
    while (node && node.a === undefined) node = node.parent;
    if (!node) { detail.textContent = "select a long array, or something in it, to go to one of its elements"; return; }
    const named = (kid) => kid.n === `[${number}]`;
    const kid = (await childrenOf(node)).find(named) || (await turn(node, { first: number })).find(named);
    if (kid) { await reveal(kid); select(kid); } else detail.textContent = `${node.n} has no element ${number}`;
  }
  async function more(node) {
    const { parent } = node, kids = await turn(parent, { first: node.g });
    select(kids.find((kid) => kid.g === undefined) || parent);
  }
  const failed = (error) => { detail.textContent = String(error); };

  const current = () => spaces[space];
  const looks = rowsOf(source, contents, {
    seen: () => ({ selected, hovered, cursor, space, width, current: current() }),
    rowAt, foldable,
    linkOf: (node) => linkOf(node),
    isFile: (number) => spaces[number].kind === "file",
  });
  const hexList = list(hex, () => current().lines, looks.hexRow);
  const treeList = list(tree, () => rows.length, looks.treeRow);
  hex.addEventListener("scroll", () => requestAnimationFrame(() => picture.draw()));
  function drawHex() { hexList.paint(); }
  function drawTree() { treeList.paint(); }

  // ---- selecting ----
  function describe(node, finding) { detail.replaceChildren(...looks.about(node, finding)); detail.scrollTop = 0; }
  function setSpace(index) {
    space = index;
    names.value = String(index);
    picture.whole();
    hexList.begin();
  }
  function select(node, { scrollHex = true, scrollTree = true, finding = null, remember = true } = {}) {
    selected = node;
    describe(node, finding);
    if (node && node.s !== undefined) {
      if (node.p !== space) setSpace(node.p);
      cursor = node.s;
      if (scrollHex) hexList.show(current().lineOf(node.s));
    }
    const at = rowOf(node), link = node && linkOf(node);
    if (scrollTree && at >= 0) { treeList.show(at); tree.scrollLeft = 0; }
    if (remember && link) history.replaceState(null, "", link);
    drawHex(); drawTree(); picture.draw();
  }
  // The innermost field that holds the bytes [at, end); with `known`, of what is loaded already.
  async function innermost(at, end = at + 1, known = false) {
    let best = null, depth = -1;
    async function descend(node, level) {
      if (node.p !== space || node.s === undefined || at < node.s || end > node.e) return;
      if (level > depth) { best = node; depth = level; }
      if (known && node.isSection && !node.kids) return;
      for (const kid of await childrenOf(node)) await descend(kid, level + 1);
    }
    const within = current(), served = source.served;
    const numbers = !served ? await source.holding(space, at)
      : within.kind === "payload" ? [within.section]
        : known ? roots.flatMap((root) => root.p === space && at >= root.s && at < root.e ? [root.number] : [])
          : await source.holding(space, at);
    for (const number of numbers) {
      const root = await rootOf(number);
      if (!root) continue;
      if (served && !known && !root.kids) { root.near = at; root.nearIn = within.kind === "payload" ? "payload" : "tree"; }
      if (root.section.payload_space === space) { for (const kid of await childrenOf(root)) await descend(kid, 1); }
      else await descend(root, root.depth);
    }
    if (best && best.a !== undefined && served && !known) { // an element of it that was not loaded yet
      const array = best;
      for (const kid of await turn(array, { at })) await descend(kid, depth + 1);
    }
    return best;
  }
  async function go(at, { finding = null, remember = true } = {}) {
    const node = await innermost(at, finding ? Math.max(at + 1, finding.end) : at + 1) || await innermost(at);
    if (node) { await reveal(node); select(node, { scrollHex: false, finding, remember: false }); }
    else { selected = null; describe(null, finding); }
    cursor = at;
    hexList.show(current().lineOf(at));
    if (!node && !finding) detail.textContent = source.served ? `${hexOf(at)}: no section holds it` : `${hexOf(at)}: not on this page: exhume explain --at ${hexOf(at)}`;
    if (remember) history.replaceState(null, "", addressLink(space, at));
    drawTree(); picture.draw();
  }

  // ---- links: #0x1f4 in the first file that has it, #section, #file@0x1f4 ----
  const firstFileWith = (at) => spaces.findIndex((one) => one.kind === "file" && one.holds(at));
  const addressLink = (index, at) => "#" + (firstFileWith(at) === index ? "" : encodeURIComponent(spaces[index].name) + "@") + hexOf(at);
  function linkOf(node) {
    if (node.s === undefined) return "";
    return node.isSection ? "#" + encodeURIComponent(node.n) : addressLink(node.p, node.s);
  }
  async function follow(hash) {
    let name;
    try { name = decodeURIComponent(hash.replace(/^#/, "")); } catch { return false; }
    if (!name) return false;
    const address = /^(?:(.*)@)?(0x[0-9a-f]+)$/i.exec(name);
    if (address) return jump(Number(address[2]), address[1]);
    const number = await source.named(name);
    if (number >= 0) select(await rootOf(number));
    else detail.textContent = source.served ? `no section ${name}` : `no section ${name} on this page: exhume explain --html FILE --section ${name}`;
    return true;
  }
  async function jump(at, named) {
    let index = named === undefined ? (current().holds(at) ? space : firstFileWith(at)) : spaces.findIndex((one) => one.name === named);
    if (index < 0 && named !== undefined && named.startsWith("payload of ") && source.served) {
      const number = await source.named(named.slice("payload of ".length));
      if (number >= 0) await setOpen(await rootOf(number), true);
      index = spaces.findIndex((one) => one.name === named);
    }
    if (index < 0 && named === undefined) index = spaces.findIndex((one) => one.holds(at));
    if (index < 0 || !spaces[index].holds(at)) { detail.textContent = `${hexOf(at)} is outside the archive`; return true; }
    if (index !== space) setSpace(index);
    await go(at);
    return true;
  }
  async function copyLink(link) {
    history.replaceState(null, "", link);
    const text = location.href;
    try { await navigator.clipboard.writeText(text); } catch {
      const area = el("textarea", { value: text });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    detail.textContent = `copied: ${text}`;
  }
  addEventListener("hashchange", () => follow(location.hash));

  // ---- findings ----
  let findingAt = -1;
  async function nextFinding() {
    if (!contents.findings.length) return;
    if (findingAt < 0 && contents.problems) findingAt = contents.findings.findIndex(isProblem) - 1;
    findingAt = (findingAt + 1) % contents.findings.length;
    const finding = contents.findings[findingAt];
    if (finding.space === null) { describe(null, finding); return; }
    let where = finding;
    if (finding.payload && finding.payload.length) { // in the payload of a section, which has an address space once it is open
      const root = await rootOf(finding.payload[0]);
      await childrenOf(root);
      if (root.section.payload_space !== undefined) {
        where = { ...finding, space: root.section.payload_space, start: finding.within[0], end: finding.within[1] };
      }
    }
    if (where.space !== space) setSpace(where.space);
    await go(where.start, { finding: where });
  }
  verdict.onclick = async () => {
    if (!waits()) { await nextFinding(); return; }
    await update(true);
    watch();
  };

  hex.addEventListener("click", (event) => { const at = event.target.dataset && event.target.dataset.at; if (at) go(Number(at)); });
  function hover(node) {
    if (node === hovered) return;
    hovered = node;
    drawHex();
    if (node) describe(node);
  }
  function leave() { hovered = null; drawHex(); describe(selected); }
  hex.addEventListener("mousemove", async (event) => {
    const at = event.target.dataset && event.target.dataset.at;
    if (at) hover(await innermost(Number(at), Number(at) + 1, source.served));
  });
  hex.addEventListener("mouseleave", leave);
  const nodeOf = (event) => { const row = event.target.closest(".row"); return row && row.dataset.row ? rowAt(Number(row.dataset.row)) : null; };
  tree.addEventListener("click", (event) => {
    const node = nodeOf(event);
    if (!node || (event.target.tagName === "A" && !event.target.classList.contains("link"))) return;
    if (event.target.classList.contains("link")) { event.preventDefault(); select(node, { scrollTree: false }); copyLink(linkOf(node)); }
    else if (event.target.classList.contains("tw")) setOpen(node, !node.open);
    else if (source.served && node.g !== undefined) more(node).catch(failed);
    else select(node, { scrollTree: false });
  });
  tree.addEventListener("dblclick", (event) => { const node = nodeOf(event); if (node) setOpen(node, !node.open); });
  tree.addEventListener("mousemove", (event) => hover(nodeOf(event)));
  tree.addEventListener("mouseleave", leave);
  names.onchange = () => { setSpace(Number(names.value)); drawHex(); picture.draw(); };

  // ---- searching: an offset, or the next field whose name or value holds the text ----
  async function* everyNode() {
    async function* below(node) { yield node; for (const kid of await childrenOf(node)) yield* below(kid); }
    for (const root of roots) if (root && (!source.served || root.kids)) yield* below(root);
  }
  async function find(text) {
    if (/^0x[0-9a-f]+$/i.test(text) || /^\d+$/.test(text)) { await jump(Number(text)); return; }
    const index = /^\[(\d+)\]$/.exec(text);
    if (index && source.served) { await element(Number(index[1])).catch(failed); return; }
    const wanted = text.toLowerCase();
    let first = null, passed = selected === null;
    for await (const node of everyNode()) {
      const hit = node.n.toLowerCase().includes(wanted) || (typeof node.v === "string" && node.v.toLowerCase().includes(wanted));
      if (hit && passed && node !== selected) { await reveal(node); select(node); return; }
      if (hit && !first) first = node;
      if (node === selected) passed = true;
    }
    if (source.served) {
      const from = selected ? (selected.isSection ? selected : selected.section) : null;
      const after = from ? (from.number ?? roots.findIndex((root) => root && root.section === from)) : 0;
      const number = await source.named(text, after);
      if (number >= 0) { select(await rootOf(number)); return; }
    }
    if (first) { await reveal(first); select(first); } else detail.textContent = `nothing named ${text} on this page`;
  }
  form.addEventListener("submit", (event) => { event.preventDefault(); if (search.value.trim()) find(search.value.trim()); });

  // ---- keys ----
  document.addEventListener("keydown", async (event) => {
    if (records && records.owns(event)) return;
    if (event.target === search) { if (event.key === "Escape") { search.blur(); tree.focus(); } return; }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === names) return;
    if (event.key === "/") { event.preventDefault(); search.focus(); search.select(); return; }
    if (event.key === "n") { await nextFinding(); return; }
    if (event.key === "c" && selected && linkOf(selected)) { await copyLink(linkOf(selected)); return; }
    if (document.activeElement === hex && cursor !== null && event.key.startsWith("Arrow")) {
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -width, ArrowDown: width }[event.key];
      event.preventDefault();
      await go(Math.max(current().base, Math.min(current().base + current().size - 1, cursor + step)));
      return;
    }
    if (event.key === "r" && records) { event.preventDefault(); records.toggle(); return; }
    if (event.key === "+" || event.key === "=") { picture.zoom(0.5); return; }
    if (event.key === "-") { picture.zoom(2); return; }
    const at = rowOf(selected);
    const select_ = async (index) => { const entry = rows[index]; const node = typeof entry === "number" ? await rootOf(entry) : entry; if (node) select(node); };
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      await select_(Math.max(0, Math.min(rows.length - 1, at + (event.key === "ArrowDown" ? 1 : -1))));
    } else if (event.key === "ArrowRight" && selected) {
      event.preventDefault();
      if (source.served && selected.g !== undefined) { await more(selected).catch(failed); return; }
      if (!selected.open) await setOpen(selected, true); else if (selected.kids && selected.kids[0]) select(selected.kids[0]);
    } else if (event.key === "ArrowLeft" && selected) {
      event.preventDefault();
      if (selected.open) await setOpen(selected, false); else if (selected.parent) select(selected.parent);
    } else if (event.key === "Enter" && document.activeElement === tree && selected) {
      if (source.served && selected.g !== undefined) await more(selected).catch(failed); else await setOpen(selected, !selected.open);
    }
    else if (event.key === "Home" && rows.length) { event.preventDefault(); await select_(0); }
    else if (event.key === "End" && rows.length) { event.preventDefault(); await select_(rows.length - 1); }
  });

  // ---- the map ----
  const picture = mapOf(map, {
    source,
    space: () => current(),
    findings: () => contents.findings.filter((one) => isProblem(one) && one.space === space),
    selected: () => selected && selected.p === space && selected.s !== undefined ? selected : null,
    view() {
      const first = hexList.firstInView(), here = current();
      const last = here.line(Math.min(here.lines - 1, first + Math.floor(hex.clientHeight / ROW)));
      return [here.line(first).at, last.at + (last.missing || width)];
    },
    go: (at) => go(at),
    say: (text) => { map.title = text; },
  });
  slim.addEventListener("change", () => {
    width = slim.matches ? 8 : 16;
    spaces.forEach((one) => one.layOut(width));
    if (cursor !== null) hexList.show(current().lineOf(cursor)); else drawHex();
  });
  new ResizeObserver(() => picture.draw()).observe(hex);

  // ---- records, where a process serves them ----
  const records = source.served && contents.searchable ? recordsOf(source, { go: async (at) => { await jump(at); } }) : null;
  if (records) { document.body.append(records.element); tools.append(records.button); }

  // ---- results that come while the page is open ----
  async function update(check = false) {
    const before = contents.generation;
    Object.assign(contents, await source.state(check));
    showVerdict();
    if (contents.generation === before) return;
    const name = selected && (selected.isSection ? selected.n : null);
    Object.assign(contents, await source.contents());
    contents.spaces.slice(spaces.length).forEach(addSpace);
    for (const one of spaces) if (one.kind === "payload") one.section = await source.named(one.name.slice("payload of ".length));
    layOutRoots();
    picture.forget();
    selected = null;
    showVerdict();
    if (name !== null) { const number = await source.named(name); if (number >= 0) select(await rootOf(number), { scrollHex: false, remember: false }); }
    drawHex(); drawTree(); picture.draw();
  }
  let watching = false;
  async function watch() {
    if (watching) return;
    watching = true;
    while (!contents.mapped || contents.state === "running") {
      await new Promise((done) => setTimeout(done, 400));
      try { await update(); } catch (error) { detail.textContent = `${error}: the process has ended`; break; }
    }
    watching = false;
    if (contents.problems && findingAt < 0 && !location.hash) await nextFinding();
  }

  // ---- where the page opens: at what the address names, what was requested, the first problem, the first section ----
  async function begin() {
    select(rows.length ? await rootOf(0) : null, { scrollHex: false, remember: false });
    let only = rows.length === 1 && selected.e - selected.s < 1 << 20 ? selected : null;  // one line would show nothing
    while (only) {
      await setOpen(only, true);
      only = only.kids && only.kids.length === 1 ? only.kids[0] : null;
    }
    if (await follow(location.hash)) return;
    if (contents.open !== null && firstFileWith(contents.open) >= 0) await jump(contents.open);
    else if (contents.problems) await nextFinding();
  }
  begin().then(() => {
    picture.draw();
    document.documentElement.dataset.ready = "yes";
    if (source.served) update(contents.verifies && contents.state === "waiting").then(watch);
  });
  window.exhume = { contents, go, find, state: () => ({ space, cursor, selected: selected && selected.n, rows: rows.length }) };
})();
