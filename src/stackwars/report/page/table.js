const PAGE = 200;

// Of many rows those of one page, and the links to the others: a table of thousands is slow to draw and to read.
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

// columns: [head, row => text or node, "number", "keep" (on one line), "wide" or nothing]; shown: the rows to draw, of all that the button copies.
function table(caption, columns, rows, shown = rows) {
  const body = shown.map((row) => h("tr", {}, columns.map(([, show, kind]) => h("td", { class: kind }, show(row) ?? ""))));
  const made = h("table", {}, h("caption", {}, caption),
    h("thead", {}, h("tr", {}, columns.map(([head, , kind]) => h("th", { scope: "col", class: kind }, head)))),
    h("tbody", {}, body));
  return h("div", {}, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, made),
    h("p", { class: "bar" }, copied(columns, rows)));
}

function copied(columns, rows) {
  const copy = h("button", { type: "button", click: async () => {
    const done = navigator.clipboard ? navigator.clipboard.writeText(csv(columns, rows)) : Promise.reject();
    copy.textContent = await done.then(() => "Copied", () => "This browser does not let a page copy");
  } }, "Copy as CSV");
  return copy;
}
