// A list that draws only the rows in view.  `draw(i)` gives the element of a row.
const ROW = 20, OVERSCAN = 8;
// Browsers stop growing elements at about 33 million pixels: taller lists are scaled.
const TALLEST = 16000000;

function list(pane, count, draw) {
  const spacer = document.createElement("div");
  spacer.className = "spacer";
  pane.append(spacer);
  const total = () => count() * ROW;
  const scale = () => Math.max(1, total() / TALLEST);
  const firstInView = () => Math.max(0, Math.min(count() - 1, Math.floor(pane.scrollTop * scale() / ROW)));
  function paint() {
    spacer.style.height = Math.min(total(), TALLEST) + "px";
    const shown = Math.ceil(pane.clientHeight / ROW) + OVERSCAN, first = firstInView();
    const shift = scale() > 1 ? pane.scrollTop - first * ROW : 0;
    const made = [];
    for (let i = Math.max(0, first - (scale() > 1 ? 0 : OVERSCAN)); i < Math.min(count(), first + shown); i++) {
      const row = draw(i);
      row.classList.add("row");
      row.style.top = i * ROW + shift + "px";
      made.push(row);
    }
    spacer.replaceChildren(...made);
  }
  pane.addEventListener("scroll", () => requestAnimationFrame(paint));
  new ResizeObserver(paint).observe(pane);
  return {
    paint,
    firstInView,
    show(i) {
      const at = i * ROW / scale();
      if (at < pane.scrollTop + ROW || at > pane.scrollTop + pane.clientHeight - 3 * ROW) pane.scrollTop = Math.max(0, at - pane.clientHeight / 3);
      paint();
    },
  };
}
