// Formulae are typeset, and panes follow a step. All else works without a script.
addEventListener("DOMContentLoaded", () => {
  for (const prose of document.querySelectorAll(".prose")) {
    renderMathInElement(prose, {
      delimiters: [
        { left: "$$", right: "$$", display: true },
        { left: "\\[", right: "\\]", display: true },
        { left: "$", right: "$", display: false },
        { left: "\\(", right: "\\)", display: false },
      ],
      throwOnError: false,
    });
  }
  for (const view of document.querySelectorAll(".sides.two")) {
    let waiting;
    const follow = (event) => {
      clearTimeout(waiting);
      const from = event.target.closest("[data-step]");
      if (from) waiting = setTimeout(() => bringIntoSight(view, from), 150);
    };
    view.addEventListener("mouseover", follow);
    view.addEventListener("focusin", follow);
    view.addEventListener("mouseleave", () => clearTimeout(waiting));
  }
});

/// Scrolls the other panes of a view to what lights up with a line, where none of it is in sight.
function bringIntoSight(view, from) {
  const steps = from.dataset.step.split(" ").map((step) => `pre.code > [data-step~="${step}"]`);
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  for (const pane of view.querySelectorAll(".pane")) {
    const lines = [...pane.querySelectorAll(steps.join())]
      .map((line) => line.getBoundingClientRect())
      .filter((line) => line.height > 0);
    const box = pane.getBoundingClientRect();
    const inSight = lines.some((line) => line.bottom > box.top && line.top < box.bottom);
    if (!lines.length || inSight || pane.contains(from)) continue;
    const top = lines[0].top - box.top - box.height / 4;
    pane.scrollBy({ top, behavior: calm ? "auto" : "smooth" });
  }
}
