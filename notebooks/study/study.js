// Typesets the formulae of the prose. All else works without a script.
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
});
