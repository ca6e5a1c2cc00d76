// Where the page has its content from: what is embedded in it, or the process that serves it.  Both answer the same.
const WINDOW = 200; // sections that are requested at a time

// A page that is a file: everything it has is in it.
function embedded(contents) {
  contents.count = contents.sections.length;
  contents.gaps = contents.sections.filter((one) => one.kind === "gap" || one.kind === "unread");
  for (const one of contents.sections) one.fields = one.tree !== undefined || one.payload !== undefined;
  return {
    served: false,
    contents: async () => contents,
    sections: async (first, count) => contents.sections.slice(first, first + count),
    async fields(section) {
      const out = {};
      for (const key of ["tree", "payload"]) {
        if (section[key] !== undefined) out[key] = JSON.parse(new TextDecoder().decode(await inflate(section[key])));
      }
      return out;
    },
    chunk: (space, part) => inflate(space.grid.get(part)),
    holding: async (space, at) => contents.sections.flatMap((one, i) => !one.skipped
      && (one.payload_space === space || (one.space === space && at >= one.start && at < one.end)) ? [i] : []),
    named: async (name) => contents.sections.findIndex((one) => !one.skipped && one.name === name),
    bands: async (space) => contents.stripes[space] || [],
  };
}

// A page that a process serves: it requests what is shown.
function served() {
  const archive = new URLSearchParams(location.search).get("archive");
  async function ask(path, parameters = {}, signal = null) {
    const query = new URLSearchParams({ ...parameters, ...(archive === null ? {} : { archive }) });
    const answer = await fetch(`${path}?${query}`, { cache: "no-store", signal });
    if (!answer.ok) {
      const said = await answer.text();
      let message = said.trim();
      try { message = JSON.parse(said).message || message; } catch { /* plain text */ }
      throw new Error(message);
    }
    return answer;
  }
  const json = async (path, parameters, signal) => (await ask(`api/${path}`, parameters, signal)).json();
  const link = (parameters) => `download?${new URLSearchParams({ ...parameters, ...(archive === null ? {} : { archive }) })}`;
  return {
    served: true,
    archive,
    contents: () => json("contents"),
    state: (check) => json("state", check ? { check: 1 } : {}),
    sections: (first, count) => json("sections", { first, count }),
    fields: (section, number, at, part) => json("fields", { section: number, ...(at === undefined ? {} : { at, part }) }),
    elements: (number, array, wanted) => json("elements", { section: number, part: array.part, array: array.a, ...wanted }),
    async chunk(space, part) {
      const place = space.kind === "payload" ? { section: space.section } : { space: space.number };
      const answer = await ask("api/bytes", { ...place, start: part * CHUNK, size: CHUNK });
      return new Uint8Array(await answer.arrayBuffer());
    },
    holding: (space, at) => json("holding", { space, at }),
    async named(name, after) {
      const { section } = await json("named", { name, ...(after === undefined ? {} : { after: Math.max(0, after) }) });
      return section === null ? -1 : section;
    },
    bands: (space, start, end) => json("bands", { space, start, end }),
    records: (query, first, count, signal) => json("records", { query, first, count }, signal),
    download: link,
    open: (key) => `?${new URLSearchParams({ archive: key })}`,
  };
}
