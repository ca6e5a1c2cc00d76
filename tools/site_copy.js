// Copy buttons of console examples take the commands, without their prompts and without the output.
function commands(text) {
  const typed = text.split("\n").filter((line) => line.startsWith("$ "));
  return typed.map((line) => line.slice(2)).join("\n");
}

// In the capture phase, because the theme's own handler reads the attribute in the bubbling phase.
document.addEventListener(
  "click",
  (event) => {
    const button = event.target.closest("[data-clipboard-target]");
    const code = button && document.querySelector(button.dataset.clipboardTarget);
    const typed = code ? commands(code.textContent) : "";
    if (typed) button.dataset.clipboardText = typed;
  },
  true,
);
