// The field list: sections, and the fields in them, which load when they are opened.
function fieldsOf(source, contents, page) {
  // A node: {n, t, v, d, r, c, o, s, e, p, k (children), depth, open, parent, section}
  // A section that was not loaded yet is its number in `rows`, as one that was is: `roots` has what is known of it.
  const roots = [], rows = [], asked = new Set();
  let laid = 0;
  const rootNode = (section, number) => ({
    number, n: section.skipped ? `… ${section.skipped} more` : section.name, t: [section.kind, section.codec].filter(Boolean).join(", "),
    depth: section.nested ? 1 : 0, open: false, parent: null, section, isSection: true, kids: null,
    ...(section.skipped ? { d: `${section.note || section.name} (explain --html with --section, --range or --all)` }
      : { d: section.note, s: section.start, e: section.end, p: section.space }),
  });
  function layOutRoots() {
    laid++;
    roots.length = rows.length = 0;
    roots.length = contents.count;
    for (let number = 0; number < contents.count; number++) rows.push(number);
    asked.clear();
  }
  layOutRoots();
  async function loadRoots(first, count) {
    const mine = laid, found = await source.sections(first, count);
    if (mine === laid) found.forEach((section, i) => { roots[first + i] ??= rootNode(section, first + i); });
  }
  async function rootOf(number) {
    if (!roots[number]) await loadRoots(Math.floor(number / WINDOW) * WINDOW, WINDOW);
    return roots[number];
  }
  function rowAt(index) {
    const entry = rows[index];
    if (typeof entry !== "number") return entry;
    if (!roots[entry] && !asked.has(Math.floor(entry / WINDOW))) {
      asked.add(Math.floor(entry / WINDOW));
      rootOf(entry).then(() => page.draw(), (error) => page.say(String(error)));
    }
    return roots[entry];
  }
  const rowOf = (node) => node === null ? -1 : rows.indexOf(node.isSection ? node.number : node);
  function adopt(node, parent) {
    node.parent = parent; node.depth = parent.depth + 1; node.open = false;
    node.section = parent.section; node.part ??= parent.part;
    return node;
  }
  // What is far into a large section takes several requests, until something else is requested.
  let turns = 0;
  async function readOn(ask) {
    const mine = ++turns;
    for (;;) {
      const found = await ask();
      if (found.reading === undefined || mine !== turns) return found;
      page.say(`reading: ${found.reading.toLocaleString("en")} bytes until now`);
    }
  }
  async function childrenOf(node) {
    if (node.kids) return node.kids;
    if (!node.isSection) { node.kids = (node.k || []).map((kid) => adopt(kid, node)); return node.kids; }
    const kids = [];
    let found;
    try { found = await readOn(() => source.fields(node.section, node.number, node.near, node.nearIn)); } catch (error) { found = { note: String(error) }; }
    if (found.note) node.d = found.note;
    if (found.bad) node.section.bad = true;
    if (found.payload_size !== undefined && node.section.payload_space === undefined) {
      const payload = { name: `payload of ${node.n}`, kind: "payload", base: 0, size: found.payload_size, section: node.number };
      node.section.payload_space = page.addSpace(payload);
    }
    if (found.payload && source.served) inPayload(found.payload, node.section);
    if (!found.payload && node.section.payload_space !== undefined && source.served) {
      found.payload = { n: "payload", t: "bytes", s: 0, e: found.payload_size, p: node.section.payload_space };
    }
    for (const key of ["tree", "payload"]) {
      if (found[key] === undefined) continue;
      found[key].part = key;
      if (key === "payload") found[key].n += " (decompressed)";
      kids.push(adopt(found[key], node));
    }
    if (!node.kids) node.kids = kids;
    return node.kids;
  }
  function inPayload(field, section) {
    if (field.p === -1) field.p = section.payload_space;
    (field.k || []).forEach((kid) => inPayload(kid, section));
  }
  // Other elements of a long array: from a number on, or those about a byte.
  async function turn(node, wanted) {
    let root = node;
    while (root.parent) root = root.parent;
    const { k } = await readOn(() => source.elements(root.number, node, wanted));
    k.forEach((kid) => inPayload(kid, node.section));
    await setOpen(node, false);
    node.k = k;
    node.kids = null;
    await setOpen(node, true);
    return node.kids;
  }
  const foldable = (node) => node.isSection ? !!node.section.fields : !!(node.k && node.k.length);
  async function setOpen(node, open) {
    if (node.open === open || !foldable(node)) return;
    const kids = await childrenOf(node);
    if (node.open === open) return;
    node.open = open;
    const at = rowOf(node);
    if (at >= 0) {
      if (open) rows.splice(at + 1, 0, ...kids.flatMap(visible));
      else {
        let end = at + 1;
        while (end < rows.length && isBelow(rows[end], node)) end++;
        rows.splice(at + 1, end - at - 1);
      }
    }
    page.draw();
  }
  function visible(node) { return node.open && node.kids ? [node, ...node.kids.flatMap(visible)] : [node]; }
  function isBelow(node, ancestor) {
    if (typeof node === "number") return false;
    for (let up = node.parent; up; up = up.parent) if (up === ancestor) return true;
    return false;
  }
  async function reveal(node) {
    const chain = [];
    for (let up = node.parent; up; up = up.parent) chain.unshift(up);
    for (const up of chain) await setOpen(up, true);
  }
  return { roots, rows, load: loadRoots, layOutRoots, rootOf, rowAt, rowOf, childrenOf, foldable, setOpen, turn, reveal };
}
