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
const cellLink = (text, cell) => link(text, ["cell", cell.device, cell.framework, cell.workload]);

// A name finds the control again once the view is drawn anew, so that the keyboard stays where it was.
function choice(name, values, current, change) {
  const select = h("select", { "data-name": name, change: () => change(select.value) },
    values.map(([value, text]) => h("option", { value, selected: value === current ? "" : null }, text)));
  return h("label", {}, `${name[0].toUpperCase()}${name.slice(1)} `, select);
}

function filtered(at, name, values, shown = (value) => value) {
  const all = [["", "all"], ...unique(values).map((value) => [value, shown(value)])];
  return choice(name, all, at.query.get(name) || "", (value) => go(at, { [name]: value }));
}

const wanted = (at, ...keys) => (row) => keys.every((key) => !at.query.get(key) || row[key] === at.query.get(key));
