// Tables of the report: a click on a heading sorts, a second the other way, a third as it was;
// words in the box leave the rows that have them all. Without this script a page is complete.
for (const table of document.querySelectorAll(".scroll > table")) {
  const body = table.tBodies[0], printed = body.innerHTML;
  if (body.rows.length < 4) continue;
  const lower = [...(table.tHead.rows[1]?.cells ?? [])];
  const heads = [...table.tHead.rows[0].cells].flatMap((cell) =>
    cell.scope === "colgroup" ? lower.splice(0, cell.colSpan) : [cell]);
  // A row with its remark; a heading that covers several rows is repeated in each.
  const groups = () => {
    const found = [];
    let head = null, left = 0;
    for (const row of [...body.rows]) {
      if (row.cells[0]?.rowSpan > 1) {
        head = row.cells[0]; left = head.rowSpan - 1; head.rowSpan = 1;
      } else if (left > 0) {
        left -= 1;
        if (!row.classList.contains("remark")) row.prepend(head.cloneNode(true));
      }
      if (row.classList.contains("remark")) { row.cells[0].colSpan = 99; found.at(-1).push(row); }
      else { row.classList.add("first"); found.push([row]); }
    }
    return found;
  };
  const key = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
  };
  const compare = (one, other) => {
    if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
    return typeof one === "number" ? one - other : one.localeCompare(other, "en", { numeric: true });
  };
  const box = document.createElement("input");
  const sieve = () => {
    const words = box.value.toLowerCase().split(/\s+/);
    for (const rows of groups()) {
      const text = rows.map((row) => row.textContent).join(" ").toLowerCase();
      for (const row of rows) row.hidden = !words.every((word) => text.includes(word));
    }
  };
  const order = (head, column) => {
    const next = { none: "ascending", ascending: "descending", descending: "none" };
    const way = next[head.ariaSort ?? "none"];
    for (const each of heads) each.ariaSort = each === head ? way : "none";
    body.innerHTML = printed;
    if (way !== "none") {
      const found = groups(), sign = way === "ascending" ? 1 : -1;
      found.sort(([one], [other]) => sign * compare(key(one, column), key(other, column)));
      body.append(...found.flat());
    }
    if (box.value) sieve();
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    button.title = "sort by this column";
    button.onclick = () => order(head, column);
    head.append(button);
  });
  if (body.rows.length < 10) continue;
  Object.assign(box, { type: "search", placeholder: "filter rows", className: "filter", oninput: sieve });
  box.ariaLabel = `Filter the rows of: ${table.caption.textContent}`;
  table.parentElement.before(box);
}
