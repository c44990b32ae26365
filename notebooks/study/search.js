// Search over the headings of all pages. Without a script there is no field.
addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("search");
  place.innerHTML =
    '<input type="search" placeholder="Search  /" aria-label="Search this site" ' +
    'autocomplete="off" spellcheck="false"><ul aria-label="Found" hidden></ul>';
  const [field, list] = place.children;
  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.length ? matches(words).slice(0, 12) : [];
    list.replaceChildren(...found.map(entry));
    if (words.length && !found.length) list.append(element("li", "Nothing found"));
    list.hidden = !words.length;
  };
  field.addEventListener("input", show);
  field.addEventListener("focus", show);
  place.addEventListener("focusout", (event) => {
    if (!place.contains(event.relatedTarget)) list.hidden = true;
  });
  place.addEventListener("keydown", (event) => {
    const stops = [field, ...list.querySelectorAll("a")];
    const at = stops.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      stops[(at + step + stops.length) % stops.length].focus();
      event.preventDefault();
    } else if (event.key === "Enter" && at === 0 && stops.length > 1) {
      stops[1].click();
    } else if (event.key === "Escape") {
      field.value = "";
      list.hidden = true;
      field.focus();
    }
  });
  addEventListener("keydown", (event) => {
    const writing = event.target.closest?.("input, textarea, select");
    if (event.key !== "/" || writing || event.ctrlKey || event.metaKey || event.altKey) return;
    field.focus();
    event.preventDefault();
  });
});

/// The entries that contain all words: those whose own text does come first.
function matches(words) {
  const holds = (text) => words.every((word) => text.toLowerCase().includes(word));
  const own = searchIndex.filter(([text]) => holds(text));
  const others = searchIndex.filter(([text, title]) => !holds(text) && holds(`${text} ${title}`));
  return [...own, ...others];
}

function entry([text, title, address]) {
  const link = element("a", text);
  link.href = address;
  if (title) link.append(element("small", title));
  const item = document.createElement("li");
  item.append(link);
  return item;
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
