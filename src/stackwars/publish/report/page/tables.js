const PAGE = 200;

// The rows of one page, and the links to the others: a table of thousands is slow to draw and to read.
function paged(rows, at, size = PAGE) {
  const pages = Math.max(1, Math.ceil(rows.length / size));
  const page = Math.min(Math.max(1, Number(at.query.get("page")) || 1), pages);
  const first = (page - 1) * size, shown = rows.slice(first, first + size);
  const turn = (text, to) => (to < 1 || to > pages ? h("span", {}, text)
    : h("a", { href: changed(at, { page: to }), "data-name": text }, text));
  const pager = pages === 1 ? null : h("nav", { class: "bar", "aria-label": "Pages" }, turn("Previous", page - 1),
    ` ${first + 1} to ${first + shown.length} of ${rows.length} `, turn("Next", page + 1));
  return { shown, pager };
}

const plainText = (shown) => (shown instanceof Node ? shown.textContent : String(shown ?? ""));

function csv(columns, rows) {
  const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
  const lines = [columns.map(([head]) => head), ...rows.map((row) => columns.map(([, show]) => plainText(show(row))))];
  return lines.map((line) => line.map(quoted).join(",")).join("\n");
}

// The columns in which some row has something.
const filled = (columns, rows) => columns.filter(([, show]) => rows.some((row) => plainText(show(row)) !== ""));

// How each kind of table is sorted, by its heads: the place of the column, and whether downwards. A view that is drawn anew keeps it.
const ORDERS = new Map();

// The rows in the order of a column; what is empty comes last either way.
function sorted(rows, [, show, kind], down) {
  const of = (row) => { const text = plainText(show(row)); return kind === "number" ? parseFloat(text) : text; };
  const isEmpty = (value) => value === "" || Number.isNaN(value);
  const compare = (a, b) => (kind === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
  return rows.map((row) => [row, of(row)]).sort(([, a], [, b]) => {
    if (isEmpty(a) || isEmpty(b)) return Number(isEmpty(a)) - Number(isEmpty(b));
    return down ? compare(b, a) : compare(a, b);
  }).map(([row]) => row);
}

// columns: [head, row => text or node, "number", "keep" (on one line), "wide" or nothing]; shown: the rows to draw, of all that
// the button copies. A head sorts all rows and shows as many of them, from the same place. A row of the reference has its sign.
function table(caption, columns, rows, shown = rows) {
  const key = columns.map(([head]) => head).join("|"), first = Math.max(0, rows.indexOf(shown[0])), body = h("tbody");
  const heads = columns.map(([head, , kind], place) => h("th", { scope: "col", class: kind, title: meaning(head) },
    head && rows.length > 1 ? h("button", { type: "button", class: "sort", "data-name": `sort ${head}`, click: () => sort(place) }, head) : head));
  const draw = () => {
    const order = ORDERS.get(key), column = order && columns[order.place];
    const drawn = column ? sorted(rows, column, order.down).slice(first, first + shown.length) : shown;
    body.replaceChildren(...drawn.map((row) => h("tr", {}, columns.map(([, show, kind], place) =>
      h("td", { class: kind }, show(row) ?? "", place ? null : sign(row))))));
    heads.forEach((head, place) => {
      if (order && order.place === place) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    roving(body);
  };
  const sort = (place) => {
    const order = ORDERS.get(key);
    ORDERS.set(key, { place, down: order && order.place === place ? !order.down : false });
    draw();
  };
  draw();
  const element = h("table", {}, h("caption", {}, caption), roving(h("thead", {}, h("tr", {}, heads))), body);
  return h("div", {}, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, element),
    signLegend(shown), h("p", { class: "bar" }, copied(columns, rows)));
}

function copied(columns, rows) {
  const copy = h("button", { type: "button", click: async () => {
    const done = navigator.clipboard ? navigator.clipboard.writeText(csv(columns, rows)) : Promise.reject();
    copy.textContent = await done.then(() => "Copied", () => "This browser does not let a page copy");
  } }, "Copy as CSV");
  return copy;
}

// The tabulator stops once at the links and buttons of a part of a table; the arrow keys go from one to the next.
function roving(part) {
  const stops = () => [...part.querySelectorAll("a[href], button")];
  const enter = (one) => stops().forEach((other) => other.setAttribute("tabindex", other === one ? "0" : "-1"));
  if (stops().length) enter(stops()[0]);
  if (part.dataset.roving) return part;
  part.dataset.roving = "1";
  part.addEventListener("focusin", (event) => { const one = event.target.closest("a[href], button"); if (one) enter(one); });
  part.addEventListener("keydown", (event) => {
    const one = event.target.closest("a[href], button"), next = one && neighbour(stops(), one, event.key);
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
  return part;
}

// The next stop in the direction of an arrow key: in the row, or in the same column of another row.
function neighbour(stops, one, key) {
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[key];
  if (!by) return null;
  const place = stops.indexOf(one), isAcross = key === "ArrowLeft" || key === "ArrowRight", cell = one.closest("td, th");
  if (isAcross || !cell) return stops[place + by];
  const column = (other) => { const own = other.closest("td, th"); return own.cellIndex === cell.cellIndex && own.parentElement !== cell.parentElement; };
  const rest = by > 0 ? stops.slice(place + 1) : stops.slice(0, place).reverse();
  return rest.find(column) || null;
}
