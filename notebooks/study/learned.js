// The part of the tour that has a trained model: what may come next, what each head attends to, and text
// that it writes, for a text of the reader's.
addEventListener("DOMContentLoaded", () => {
  const at = (name) => document.getElementById(`learned-${name}`);
  const model = new LanguageModel(TRAINED_MODEL);
  const { num_layers, num_heads, context_length } = model.sizes;
  const encoder = new TextEncoder();
  let bytes, read, chosen;  // of the text; what the model answered to each of them; whose weights are shown

  for (let layer = 0; layer < num_layers; layer++) {
    for (let head = 0; head < num_heads; head++) at("head").add(new Option(`layer ${layer}, head ${head}`));
  }
  const { layer, head } = TRAINED_MODEL.shown;
  at("head").selectedIndex = layer * num_heads + head;

  const shownAs = (byte) => {
    if (byte === 10) return "↵";
    if (byte === 32) return "␣";
    return byte < 32 || byte > 126 ? `\\x${byte.toString(16)}` : String.fromCharCode(byte);
  };

  // Reads the text, from where it differs from the one before; the line before it has ended.
  const readText = () => {
    const now = [10, ...encoder.encode(at("text").value)].slice(0, context_length);
    if (!bytes || bytes.some((byte, i) => byte !== now[i])) {
      model.restart();
      read = [];
    }
    for (const byte of now.slice(read.length)) read.push(model.read(byte));
    bytes = now;
    chosen = bytes.length - 1;
  };

  const showNext = () => {
    const p = softmax(read.at(-1).logits);
    const likeliest = [...p.keys()].sort((a, b) => p[b] - p[a]).slice(0, 6);
    at("next").replaceChildren(...likeliest.map((byte) => {
      const [row, name, value] = ["tr", "th", "td"].map((tag) => document.createElement(tag));
      name.scope = "row";
      name.textContent = shownAs(byte);
      value.textContent = `${(100 * p[byte]).toFixed(1)} %`;
      value.style.setProperty("--p", `${100 * p[byte]}%`);
      row.append(name, value);
      return row;
    }));
    at("next").dataset.best = likeliest[0];
  };

  const showWeights = () => {
    const number = at("head").selectedIndex;
    const weights = read[chosen].attention[Math.floor(number / num_heads)][number % num_heads];
    at("weights").replaceChildren(...[...bytes.keys()].map((i) => {
      const letter = document.createElement("button");
      letter.type = "button";
      letter.textContent = shownAs(bytes[i]);
      letter.style.setProperty("--v", Math.round(100 * (weights[i] ?? 0)));
      letter.title = i > chosen ? "later: masked" : `weight ${weights[i].toFixed(2)}`;
      if (i === chosen) letter.setAttribute("aria-current", "true");
      letter.addEventListener("click", () => {
        chosen = i;
        showWeights();
      });
      return letter;
    }));
  };

  const show = () => {
    readText();
    showNext();
    showWeights();
    at("write").disabled = bytes.length === context_length;
  };
  at("text").addEventListener("input", show);
  at("head").addEventListener("change", showWeights);
  // The likeliest byte, again and again, to the end of a sentence.
  at("write").addEventListener("click", () => {
    do {
      at("text").value += String.fromCharCode(at("next").dataset.best);
      readText();
      showNext();
    } while (!".!?\n".includes(at("text").value.at(-1)) && bytes.length < context_length);
    show();
  });
  show();
});
