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

// A plot of so many pixels with its numbers at its right, if the page is wide enough.
const BESIDE = 600;
const beside = (...parts) => h("div", { class: "beside" }, parts);

const plainText = (shown) => (shown instanceof Node ? shown.textContent : String(shown ?? ""));

function csv(columns, rows) {
  const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
  const lines = [columns.map(([head]) => head), ...rows.map((row) => columns.map(([, show]) => plainText(show(row))))];
  return lines.map((line) => line.map(quoted).join(",")).join("\n");
}

// Columns that many tables have, by their heads: what they show of a row, and how.
const COLUMNS = {
  Workload: [(row) => whyLink(row.workload, row.title)], Frontend: [(row) => title(row.framework)], Framework: [(row) => title(row.framework)], Device: ["device"], Compiler: ["compiler", "keep"],
  Ratio: ["ratio", "digits"], Interval: [(row) => interval(row.low, row.high), "keep"], "Prediction interval": [(row) => interval(row.predicted_low, row.predicted_high), "keep"],
  Verdict: ["verdict"], Status: [(row) => clipped(statusOf(row))], Run: ["run", "keep"],
};
// columns: each the name of one in COLUMNS, or [head, row => text or node, kind], or [head, the row's value that it shows, kind]; a kind is "number", "digits" (a
// number to three digits), "keep" (on one line), "wide" or nothing.
const described = (columns) => columns.map((column) => {
  const [head, show, kind] = typeof column === "string" ? [column, ...COLUMNS[column]] : column;
  return typeof show === "string" ? [head, kind === "digits" ? (row) => number(row[show]) : (row) => row[show], kind === "digits" ? "number" : kind] : [head, show, kind];
});

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

// given: the columns, as `described` takes them, the most important first; shown: the rows to
// draw, of all that the button copies. A head sorts all rows and shows as many of them, from the same place. A row of the reference has
// its sign. A column in which no row has something is left out. Columns that do not fit are not cut: a button at the end of a row opens them below it.
function table(caption, given, rows, shown = rows) {
  const columns = described(given).filter(([, show]) => rows.some((row) => plainText(show(row)) !== "")), key = columns.map(([head]) => head).join("|"), first = Math.max(0, rows.indexOf(shown[0])), body = h("tbody");
  const heads = columns.map(([head, , kind], place) => h("th", { scope: "col", class: kind, title: meaning(head) },
    head && rows.length > 1 ? h("button", { type: "button", class: "sort", "data-name": `sort ${head}`, click: () => sort(place) }, head) : head));
  const last = h("th", { scope: "col" }, "More"), headRow = h("tr", {}, heads);
  let fits = columns.length;
  const line = (row) => {
    const cells = columns.map(([, show, kind], place) => h("td", { class: kind }, show(row) ?? "", place ? null : sign(row)));
    const rest = cells.slice(fits).filter((cell) => cell.textContent);
    return h("tr", {}, cells.slice(0, fits), fits < cells.length ? h("td", {}, rest.length ? moreButton(rest.map((cell) => [heads[cells.indexOf(cell)].textContent, cell]), fits + 1) : "") : null);
  };
  const draw = () => {
    const order = ORDERS.get(key), column = order && columns[order.place];
    const drawn = column ? sorted(rows, column, order.down).slice(first, first + shown.length) : shown;
    body.replaceChildren(...drawn.map(line));
    heads.forEach((head, place) => {
      head.hidden = place >= fits;
      if (order && order.place === place) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    if (fits < columns.length) headRow.append(last);
    roving(body);
  };
  const sort = (place) => {
    const order = ORDERS.get(key);
    ORDERS.set(key, { place, down: order && order.place === place ? !order.down : false });
    draw();
  };
  draw();
  const scroll = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, roving(h("thead", {}, headRow)), body));
  scroll.fitting = () => {
    if (scroll.scrollWidth <= scroll.clientWidth) return null;
    let room = scroll.clientWidth - OPENER;
    const cut = heads.findIndex((head) => { room -= head.offsetWidth; return room < 0; });
    return () => { fits = cut < 0 ? fits : Math.max(1, cut); draw(); };
  };
  return h("div", {}, h("p", { class: "caption" }, caption), scroll, signLegend(shown), h("p", { class: "bar" }, copied(columns, rows)));
}

// The width of the cell with the button.
const OPENER = 60;

function moreButton(rest, width) {
  const below = h("tr", {}, h("td", { colspan: width }, h("dl", { class: "rest" },
    rest.map(([head, cell]) => h("div", {}, h("dt", {}, head), h("dd", {}, [...cell.childNodes]))))));
  const button = h("button", { type: "button", class: "more", "aria-expanded": "false", click: () => {
    if (below.isConnected) below.remove(); else button.closest("tr").after(below);
    button.setAttribute("aria-expanded", String(below.isConnected));
  } }, "more");
  return button;
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
