// Records of an archive as a table, some at a time, with a query in the language of its format.
function recordsOf(source, page) {
  const STEP = 50;
  const query = el("input", { type: "search", id: "query", autocomplete: "off" });
  query.setAttribute("aria-label", "query");
  const said = el("span", { className: "said" });
  said.setAttribute("role", "status");
  const before = el("button", { type: "button", textContent: "‹ before", disabled: true });
  const after = el("button", { type: "button", textContent: "next ›", disabled: true });
  const close = el("button", { type: "button", textContent: "close" });
  const form = el("form", {}, query, el("button", { textContent: "search" }), before, after, said, close);
  const table = el("table"), around = el("div", { className: "around", tabIndex: 0 }, table);
  around.setAttribute("role", "region");
  around.setAttribute("aria-label", "table of records");
  const element = el("section", { id: "records", hidden: true }, form, around);
  element.setAttribute("aria-label", "records");
  const button = el("button", { type: "button", textContent: "records", title: "records as a table (r)" });
  button.setAttribute("aria-expanded", "false");
  let first = 0, asked = null, stopped = false;
  let search = null; // the request that is not answered yet

  // The process ends a search whose request was given up: by a newer one, by closing the table, or with the tab.
  async function show(from) {
    if (search) search.abort();
    const mine = search = new AbortController();
    first = from;
    stopped = false;
    said.textContent = "searching …";
    let found;
    try { found = await source.records(asked, from, STEP, mine.signal); } catch (error) {
      if (mine === search && !mine.signal.aborted) { said.textContent = String(error.message || error); table.replaceChildren(); before.disabled = after.disabled = true; }
      if (mine === search) search = null;
      return;
    }
    if (mine !== search) return;
    search = null;
    query.placeholder = found.hint;
    const head = el("tr", {}, ...["#", ...found.columns].map((name) => el("th", { textContent: name, scope: "col" })));
    const rows = found.rows.map((row, i) => el("tr", {}, el("td", { className: "number", textContent: String(first + i) }),
      ...row.map((value, column) => cell(value, found.columns[column]))));
    table.replaceChildren(el("thead", {}, head), el("tbody", {}, ...rows));
    around.scrollTop = 0;
    before.disabled = first === 0;
    after.disabled = !found.more;
    said.textContent = found.rows.length ? `${first} to ${first + found.rows.length - 1}${found.more ? "" : ", the last"}` : "no match";
  }
  function cell(value, column) {
    const made = el("td", { className: typeof value === "number" ? "number" : "" });
    if (column === "offset" && typeof value === "number") {
      made.append(el("a", { href: "#0x" + value.toString(16), textContent: String(value), onclick: (event) => { event.preventDefault(); toggle(false); page.go(value); } }));
    } else made.textContent = value === null || value === undefined ? "" : String(value);
    return made;
  }
  function toggle(open = element.hidden) {
    element.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    if (!open) { if (search) { search.abort(); stopped = true; } button.focus(); return; }
    query.focus();
    if (asked === null || stopped) { asked ??= ""; show(first); }
  }
  form.addEventListener("submit", (event) => { event.preventDefault(); asked = query.value; show(0); });
  before.onclick = () => show(Math.max(0, first - STEP));
  after.onclick = () => show(first + STEP);
  close.onclick = () => toggle(false);
  button.onclick = () => toggle();
  return {
    element, button, toggle,
    // Keys that are typed into the table are not those of the page.
    owns(event) {
      if (element.hidden) return false;
      if (event.key === "Escape") { toggle(false); return true; }
      return element.contains(event.target);
    },
  };
}
