// Columns sort by their heads, and a row opens its student's page. Without this the rows are in the
// roster's order, and the names are the links.
(() => {
  const table = document.querySelector('.students table');
  if (!table) return;
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const sort = (head, column) => {
    const numbers = head.classList.contains('number'), before = head.getAttribute('aria-sort');
    // Names from A to Z first, numbers from the largest.
    const up = before ? before === 'descending' : !numbers;
    for (const each of heads) each.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    const keyed = [...body.rows].map(row => {
      const text = row.cells[column].textContent.trim();
      return {row, text, none: numbers ? isNaN(parseFloat(text)) : text === ''};
    });
    keyed.sort((a, b) => {
      if (a.none || b.none) return a.none - b.none;
      const order = numbers ? parseFloat(a.text) - parseFloat(b.text)
                            : a.text.localeCompare(b.text, undefined, {numeric: true});
      return up ? order : -order;
    });
    body.append(...keyed.map(each => each.row));
  };
  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.append(...head.childNodes);
    button.addEventListener('click', () => sort(head, column));
    head.append(button);
  });
  for (const row of body.rows) {
    const link = row.querySelector('a');
    if (!link) continue;
    row.classList.add('opens');
    row.addEventListener('click', event => {
      if (event.target !== link && !link.contains(event.target) && !String(getSelection())) {
        link.click();
      }
    });
  }
})();
