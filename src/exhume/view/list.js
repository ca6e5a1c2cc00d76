// A list that draws only the rows in view.  `draw(i)` returns the element of a row.
const ROW = 20, OVERSCAN = 8;
// Browsers stop growing elements at about 33 million pixels: the scroll bar of a taller list is scaled, and the wheel and
// `show` move it by rows.
const TALLEST = 16000000;

function list(pane, count, draw) {
  const spacer = document.createElement("div");
  spacer.className = "spacer";
  pane.append(spacer);
  let top = 0, set = 0; // the first row in view, with its fraction; where the scroll bar was put for it
  const height = () => Math.min(count() * ROW, TALLEST);
  const scale = () => Math.max(1, count() * ROW / TALLEST);
  const last = () => Math.max(0, count() - pane.clientHeight / ROW);
  const firstInView = () => Math.max(0, Math.min(count() - 1, Math.floor(top)));
  function moveTo(row) {
    top = Math.max(0, Math.min(last(), row));
    spacer.style.height = height() + "px";
    pane.scrollTop = top * ROW / scale();
    set = pane.scrollTop;
  }
  function paint() {
    spacer.style.height = height() + "px";
    if (pane.scrollTop !== set) { set = pane.scrollTop; top = Math.min(last(), set * scale() / ROW); }
    const shown = Math.ceil(pane.clientHeight / ROW) + OVERSCAN, first = firstInView(), made = [];
    for (let i = Math.max(0, first - OVERSCAN); i < Math.min(count(), first + shown); i++) {
      const row = draw(i);
      row.classList.add("row");
      row.style.top = set + (i - top) * ROW + "px";
      made.push(row);
    }
    spacer.replaceChildren(...made);
  }
  pane.addEventListener("scroll", () => requestAnimationFrame(paint));
  pane.addEventListener("wheel", (event) => {
    if (scale() === 1 || event.ctrlKey || !event.deltaY) return;
    event.preventDefault();
    moveTo(top + (event.deltaMode === 1 ? event.deltaY : event.deltaY / ROW));
    paint();
  }, { passive: false });
  new ResizeObserver(paint).observe(pane);
  return {
    paint,
    firstInView,
    begin() { moveTo(0); },
    show(i) {
      const rows = pane.clientHeight / ROW;
      if (i < top + 1 || i > top + rows - 3) moveTo(Math.max(0, i - rows / 3));
      paint();
    },
  };
}
