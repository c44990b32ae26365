// One step of the tour at a time, by links, by ← and →, or all of them. Without a script all are shown.
addEventListener("DOMContentLoaded", () => {
  const steps = [...document.querySelectorAll(".tour-step")];
  const button = document.getElementById("all");
  const current = () => Math.max(0, steps.findIndex((step) => `#${step.id}` === location.hash));
  const show = () => {
    const stepping = document.body.classList.contains("stepping");
    const shown = steps[current()];
    for (const step of steps) step.hidden = stepping && step !== shown;
    for (const link of document.querySelectorAll('.contents a[href^="#"]')) {
      if (link.getAttribute("href") === `#${shown.id}`) link.setAttribute("aria-current", "step");
      else link.removeAttribute("aria-current");
    }
    button.textContent = stepping ? "Show all steps" : "Show one step at a time";
  };
  const turn = (by) => {
    const to = steps[current() + by];
    if (to) location.hash = to.id;
  };
  button.addEventListener("click", () => {
    document.body.classList.toggle("stepping");
    show();
  });
  addEventListener("hashchange", () => {
    show();
    if (document.body.classList.contains("stepping")) scrollTo(0, 0);
  });
  addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const busy = event.target.closest?.("input, textarea, select, .scroll, .pane");
    if (by && !busy && !event.ctrlKey && !event.metaKey && !event.altKey) turn(by);
  });
  addEventListener("beforeprint", () => steps.forEach((step) => (step.hidden = false)));
  addEventListener("afterprint", show);
  document.body.classList.add("stepping", "scripted");
  show();
});
