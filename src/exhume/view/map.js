// The map next to the bytes: the file, or the part of it that was zoomed into, as bands of its sections.
function mapOf(canvas, page) {
  const ACROSS = 26, LEAST = 64; // pixels; bytes of the smallest part
  let from = 0, until = null; // offsets in the space; null: its end
  let known = null, asked = "";

  const range = () => { const here = page.space(); return [here.base + from, here.base + (until ?? here.size)]; };
  async function bands(start, end) {
    const here = page.space(), key = `${here.number}:${start}:${end}`;
    if (here.kind === "payload") return [[start, end, "data", 1, here.name]];
    if (asked !== key) {
      asked = key;
      page.source.bands(here.number, start, end).then((found) => { if (asked === key) { known = { key, found }; draw(); } }, () => {});
    }
    return known && known.key === key ? known.found : known && known.key.startsWith(`${here.number}:`) ? known.found : [];
  }
  async function draw() {
    const height = canvas.parentElement.clientHeight, here = page.space();
    if (!height || !here) return;
    const [start, end] = range(), found = await bands(start, end), ratio = devicePixelRatio || 1;
    canvas.style.height = height + "px";
    canvas.width = ACROSS * ratio; canvas.height = height * ratio;
    const paint = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    paint.scale(ratio, ratio);
    const y = (at) => end > start ? Math.max(-4, Math.min(height + 4, (at - start) / (end - start) * height)) : 0;
    for (const [first, last, kind] of found) {
      paint.fillStyle = style.getPropertyValue("--" + kind);
      paint.fillRect(4, y(first), ACROSS - 8, Math.max(1, y(last) - y(first) - (y(last) - y(first) > 4 ? 0.5 : 0)));
    }
    for (const finding of page.findings().filter((one) => one.end >= start && one.start <= end)) {
      paint.fillStyle = style.getPropertyValue(finding.severity === "error" ? "--bad" : "--unchecked");
      paint.fillRect(0, Math.min(y(finding.start), height - 3), ACROSS, Math.max(3, y(finding.end) - y(finding.start)));
    }
    const selected = page.selected();
    if (selected) {
      paint.fillStyle = style.getPropertyValue("--accent");
      paint.fillRect(0, y(selected.s), 4, Math.max(2, y(selected.e) - y(selected.s)));
    }
    const [top, bottom] = page.view();
    paint.strokeStyle = style.getPropertyValue("--text");
    paint.strokeRect(1, Math.min(y(top), height - 3) + 0.5, ACROSS - 2, Math.max(3, Math.min(height, y(bottom)) - y(top) - 1));
    const shown = until === null && from === 0 ? "the whole file" : `0x${start.toString(16)} to 0x${end.toString(16)}`;
    page.say(`${shown}: click to go there, wheel or + and - to zoom`);
  }
  const at = (pixel) => { const [start, end] = range(); return Math.floor(start + Math.min(0.999999, pixel / canvas.clientHeight) * (end - start)); };
  // Shows a part that is `factor` times as large, around a place.
  function zoom(factor, around = page.view()[0]) {
    const here = page.space(), [start, end] = range();
    const size = Math.min(here.size, Math.max(LEAST, Math.round((end - start) * factor)));
    if (size >= here.size) { from = 0; until = null; } else {
      const share = end > start ? Math.min(1, Math.max(0, (around - start) / (end - start))) : 0;
      from = Math.round(Math.max(0, Math.min(here.size - size, around - here.base - share * size)));
      until = from + size;
    }
    draw();
  }
  canvas.addEventListener("click", (event) => page.go(at(event.offsetY)));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.deltaY) zoom(event.deltaY < 0 ? 0.8 : 1.25, at(event.offsetY));
  }, { passive: false });
  canvas.addEventListener("mousemove", (event) => {
    const place = at(event.offsetY), band = known && known.found.find(([first, last]) => place >= first && place < last);
    if (band) page.say(`${band[4]}: ${band[3]} ${band[2]}, 0x${band[0].toString(16)} to 0x${band[1].toString(16)}`);
  });
  return { draw, zoom, whole() { from = 0; until = null; }, forget() { known = null; asked = ""; } };
}
