// The fragment of the address: view/of/what?filter=value
function place() {
  const [path, query] = location.hash.slice(1).split("?");
  const plain = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
  return { parts: path ? path.split("/").map(plain) : ["start"], query: new URLSearchParams(query || "") };
}

function address(parts, query = []) {
  const asked = new URLSearchParams([...query].filter(([, value]) => value)).toString();
  return `#${parts.map(encodeURIComponent).join("/")}${asked ? `?${asked}` : ""}`;
}

// The same place with other values of some keys; another filter begins at its first page.
function changed({ parts, query }, values) {
  const asked = new URLSearchParams(query);
  if (!("page" in values)) asked.delete("page");
  for (const [key, value] of Object.entries(values)) asked.set(key, value);
  return address(parts, asked);
}

const go = (at, values) => { location.hash = changed(at, values); };

const link = (text, parts, query) => h("a", { href: address(parts, query) }, text);
const cellLink = (text, cell) => link(text, ["cell", cell.study, cell.device, cell.framework, cell.workload]);
const replayParts = (row) => ["replay", row.study, row.device, row.compiler, row.framework, row.workload];
const listOf = (nodes) => nodes.flatMap((one, place) => [place ? ", " : "", one]);

// A name finds the control again once the view is drawn anew, so that the keyboard stays where it was.
function choice(name, values, current, change) {
  const select = h("select", { "data-name": name, change: () => change(select.value) },
    values.map(([value, text]) => h("option", { value, selected: value === current ? "" : null }, text)));
  return h("label", {}, `${name[0].toUpperCase()}${name.slice(1)} `, select);
}

// A control for each of these columns in which the rows differ.
const filters = (rows, at, ...keys) => keys.map((key) => {
  const values = unique(rows.map((row) => row[key])).filter(Boolean), shown = { workload: titleOf, framework: title, subject: title }[key] || String;
  return values.length < 2 ? null
    : choice(key, [["", "all"], ...values.map((value) => [value, shown(value)])], at.query.get(key) || "", (value) => go(at, { [key]: value }));
});

// The rows that the address asks for by these keys. A value that no row has, from another view or study, is ignored.
function wanted(rows, at, ...keys) {
  const asked = keys.filter((key) => rows.some((row) => row[key] === at.query.get(key)));
  return rows.filter((row) => asked.every((key) => row[key] === at.query.get(key)));
}

// The value that is asked for if it is one of these, else the first.
const oneOf = (at, name, values) => (values.includes(at.query.get(name)) ? at.query.get(name) : values[0]);

// The study of some rows that a view shows, with its control and the line that says where its results are from.
function studyOf(rows, at, first = (names) => names[0]) {
  const names = Object.keys(DATA.studies).filter((name) => rows.some((row) => row.study === name));
  const study = oneOf(at, "study", [first(names), ...names]);
  const control = choice("study", names.map((name) => [name, name]), study, (value) => go(at, { study: value }));
  return { study, control, origin: study ? origin(study) : null, rows: rows.filter((row) => row.study === study) };
}

const origin = (study) => (DATA.studies[study] ? h("p", { class: "origin" }, `Study ${study}. ${DATA.studies[study].origin}`) : null);
