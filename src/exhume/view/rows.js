// How a line of bytes, a row of the field list, and what is known about a field look.
const el = (tag, props = {}, ...kids) => {
  const made = Object.assign(document.createElement(tag), props);
  made.append(...kids);
  return made;
};
const hexOf = (at) => "0x" + at.toString(16);
const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

// `page.seen()`: what is selected and hovered, the cursor, the address space with its number, and the bytes of a line.
function rowsOf(source, contents, page) {
  const within = (node, at, number) => node && node.p === number && node.s !== undefined && at >= node.s && at < node.e;
  function classesAt(at, seen, broken, gaps) {
    let names = "";
    if (within(seen.selected, at, seen.space)) names += " sel";
    else if (within(seen.hovered, at, seen.space)) names += " hov";
    if (broken.some((f) => at >= f.start && at < f.end)) names += " bad";
    else if (gaps.some((g) => at >= g.start && at < g.end)) names += " gap";
    if (seen.cursor === at) names += " cur";
    return names;
  }
  function hexRow(index) {
    const seen = page.seen(), line = seen.current.line(index), row = el("div"), end = line.at + seen.width;
    row.append(el("span", { className: "off", textContent: line.at.toString(16).padStart(8, "0") + "  " }));
    if (line.missing) {
      const command = `exhume explain --html FILE --range ${hexOf(line.at)}:${hexOf(line.at + line.missing)}`;
      const how = seen.current.kind === "file" ? command : "exhume explain --html FILE --section NAME";
      row.append(el("span", { className: "left", textContent: `… ${line.missing.toLocaleString("en")} bytes are not on this page: ${how}` }));
      return row;
    }
    if (!line.data) { row.append("…"); return row; }
    const touching = (one) => one.space === seen.space && one.start < end && one.end > line.at;
    const broken = contents.findings.filter((f) => f.severity === "error" && touching(f));
    const gaps = contents.gaps.filter(touching);
    const text = el("span");
    line.data.forEach((byte, i) => {
      const names = classesAt(line.at + i, seen, broken, gaps);
      const one = el("span", { className: "b" + names, textContent: byte.toString(16).padStart(2, "0") });
      const chr = el("span", { className: "a" + names, textContent: byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·" });
      one.dataset.at = chr.dataset.at = String(line.at + i);
      row.append(one);
      text.append(chr);
    });
    row.append(" ".repeat((seen.width - line.data.length) * 3 + 1), text);
    return row;
  }
  function treeRow(index) {
    const node = page.rowAt(index), { selected } = page.seen();
    if (!node) return el("div", { textContent: "  …" });
    const row = el("div", { className: (node.isSection ? "section" : "") + (node === selected ? " here" : "") });
    const add = (className, textContent) => row.append(el("span", { className, textContent }));
    row.setAttribute("role", "treeitem");
    row.setAttribute("aria-level", String(node.depth + 1));
    row.setAttribute("aria-selected", String(node === selected));
    if (page.foldable(node)) row.setAttribute("aria-expanded", String(node.open));
    row.dataset.row = String(index);
    const link = page.linkOf(node);
    row.append(link ? el("a", { className: "link", href: link, textContent: "#", title: "copy a link to this", tabIndex: -1 }) : " ", "  ".repeat(node.depth));
    add("tw", page.foldable(node) ? (node.open ? "▾" : "▸") : "");
    add("name", node.n);
    if (node.isSection && node.section.bad) { row.append("  "); add("badtext", source.served ? "damaged" : "checksum mismatch"); }
    if (node.isSection && node.section.archive) row.append("  ", el("a", { href: source.open(node.section.archive), textContent: "open", tabIndex: -1 }));
    if (node.o) { row.append("  "); add("badtext", node.o); }
    if (node.s !== undefined) add("off", `  ${hexOf(node.s)}+${node.e - node.s}`);
    if (node.t) add("type", "  " + node.t);
    if (node.v !== undefined) { row.append("  "); add("val", String(node.v)); }
    if (node.c) { row.append("  "); add({ matches: "ok", mismatch: "badtext" }[node.w] || "unchecked", `[${node.c}]`); }
    if (node.d) add("doc", "  " + node.d.slice(0, 160));
    return row;
  }
  // The text about a field and a finding, and what can be saved of it.
  function about(node, finding) {
    const out = finding ? [el("b", { className: "badtext", textContent: finding.text }), "\n"] : [];
    if (!node) return out;
    const path = [node];
    while (path[0].parent) path.unshift(path[0].parent);
    const inFile = node.p === undefined || page.isFile(node.p);
    const place = node.s === undefined ? "" : ` ${inFile ? "" : "payload "}offset ${node.s} (${hexOf(node.s)}), ${counted(node.e - node.s, "byte")}`;
    out.push(el("b", { textContent: path.map((one) => one.n).join(" › ") }), place, node.v === undefined ? "" : `  = ${node.v}`, node.c ? `  [${node.c}]` : "");
    if (node.o && !(finding && (node.o.includes(finding.text) || node.o.includes(`[${finding.code}]`)))) out.push("\n", el("b", { className: "badtext", textContent: node.o }));
    if (node.d || node.r) out.push("\n", node.d || "", node.r ? `  (${node.r})` : "");
    if (!source.served) return out;
    const save = (textContent, wanted) => el("a", { href: source.download({ section: path[0].number, ...wanted }), textContent });
    if (node.isSection) {
      out.push("\n", save("save the stored bytes", {}));
      if (node.section.payload) out.push("  ", save("save the decompressed payload", { what: "payload" }));
      if (node.section.archive) out.push("  ", el("a", { href: source.open(node.section.archive), textContent: "open this archive" }));
    } else if (node.s !== undefined) {
      out.push("\n", save("save these bytes", { ...(inFile ? {} : { what: "payload" }), start: node.s, end: node.e, name: node.n }));
    }
    return out;
  }
  return { hexRow, treeRow, about };
}
