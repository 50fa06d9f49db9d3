"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);

const MAIN = document.getElementById("main");
const STAGES = { first: "First run", second: "Second run", steady: "Steady state" };

// The children that exist, with nested lists flattened.
const some = (children) => children.flat().filter((child) => child !== null && child !== undefined);

// An element with attributes and children; text goes in as text, so no name of a run can be markup.
function withContent(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...some(children));
  return node;
}
function h(tag, attributes, ...children) {
  return withContent(document.createElement(tag), attributes, children);
}
function s(tag, attributes, ...children) {
  return withContent(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

// A plot is drawn for the width that there is, so that its text keeps its size; 560 is what the narrowest one needs.
const wide = (most) => Math.min(most, Math.max(560, (MAIN.clientWidth || most) - 44));
// What a text of a plot takes at most: its letters have 12 pixels.
const reach = (texts) => 18 + 7.2 * Math.max(0, ...texts.map((text) => String(text).length));

const words = (x, y, text, anchor = "start") => s("text", { x, y, "text-anchor": anchor }, String(text));

const drawing = (width, height, label, ...children) => s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", width: "100%",
  style: `max-width: ${width}px`, "aria-label": label }, ...children);

const title = (framework) => (DATA.frameworks[framework] || { title: framework }).title;
const colour = (framework) => (DATA.frameworks[framework] || { colour: "#555" }).colour;
let titles = {};
const titleOf = (workload) => titles[workload] || workload;
const cellKey = (cell) => `${cell.device}/${cell.framework}/${cell.workload}`;
const unique = (values) => [...new Set(values)];
const none = (value) => value === null || value === undefined;

function number(value, count = 3) {
  if (none(value)) return "";
  const size = Math.abs(value);
  if (size && (size < 1e-3 || size >= 1e6)) return value.toExponential(count - 1);
  return size >= 10 ** (count - 1) ? value.toFixed(0) : value.toPrecision(count);
}

const interval = (low, high) => (none(low) ? "" : `[${number(low)}, ${number(high)}]`);
const percent = (share) => `${number(100 * share)} %`;
// The sign of what is of the reference, in the report of another run.
const isOther = (row) => Boolean(row) && row.reference === true;
const sign = (row) => (isOther(row) ? h("sup", { class: "other", title: "of the reference, not of this run" }, DATA.mark) : null);
const signed = (row) => (isOther(row) ? ` ${DATA.mark}` : "");
const signLegend = (rows) => (rows.some(isOther) ? h("p", { class: "legend" }, `${DATA.mark} of the reference, not of this run.`) : null);
const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;

// From light (0) to dark (1), with the one of black and white that reads on it: at least 4.5 to 1.
function shade(dark) {
  const level = Math.round(250 - 185 * Math.min(1, Math.max(0, dark)));
  const rgb = [level - 20, level, Math.min(255, level + 10)];
  const [r, g, b] = rgb.map((value) => ((value / 255 + 0.055) / 1.055) ** 2.4);
  return { background: `rgb(${rgb})`, ink: 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000" : "#fff" };
}

// The page holds what only one view needs as base64 of gzip of JSON.
async function unpack(packed) {
  const text = atob(packed), bytes = new Uint8Array(text.length);
  for (let place = 0; place < bytes.length; place += 1) bytes[place] = text.charCodeAt(place); // Uint8Array.from is ten times slower.
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// The rows of the tables.
const loaded = (async () => {
  const unpacked = async (parent, name) => { parent[name] = await unpack(parent[name]); };
  await Promise.all([...["cells", "comparisons", "causes", "compiled", "values", "releases", "explained", "effects"].map((name) => unpacked(DATA, name)), unpacked(DATA.timeline, "calls")]);
  titles = Object.fromEntries([...DATA.cells, ...DATA.programs, ...DATA.timeline.calls, ...DATA.compiled, ...DATA.comparisons].map((one) => [one.workload, one.title]));
})();

// Hands a file to the reader that is node here.
function save(name, text, kind) {
  const url = URL.createObjectURL(new Blob([text], { type: kind }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// The fragment of the address: view/of/what?filter=value
function place() {
  const [path, query] = location.hash.slice(1).split("?");
  const plain = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
  return { parts: path ? path.split("/").map(plain) : ["start"], query: new URLSearchParams(query || "") };
}

function address(parts, query = []) {
  const params = new URLSearchParams([...query].filter(([, value]) => value)).toString();
  return `#${parts.map(encodeURIComponent).join("/")}${params ? `?${params}` : ""}`;
}

// The same place with other values of some keys; another filter begins at its first page.
function changed({ parts, query }, values) {
  const params = new URLSearchParams(query);
  if (!("page" in values)) params.delete("page");
  for (const [key, value] of Object.entries(values)) params.set(key, value);
  return address(parts, params);
}

const go = (at, values) => { location.hash = changed(at, values); };

const link = (text, parts, query) => h("a", { href: address(parts, query) }, text);
const cellLink = (text, cell) => link(text, ["cell", cell.study, cell.device, cell.framework, cell.workload]);
const replayParts = (row) => ["replay", row.study, row.device, row.compiler, row.framework, row.workload];
const whyLink = (workload, text = titleOf(workload)) => (hasView("why", workload) ? link(text, ["why", workload]) : text);
const listOf = (nodes) => nodes.flatMap((one, place) => [place ? ", " : "", one]);

// values: each [value, text], or a value that is its own text. The name finds the control again once the view is drawn anew, so that the
// keyboard stays where it was.
function choice(name, values, current, change) {
  const options = values.map((one) => (Array.isArray(one) ? one : [one, one]));
  const select = h("select", { "data-name": name, change: () => change(select.value) },
    options.map(([value, text]) => h("option", { value, selected: value === current ? "" : null }, text)));
  return h("label", {}, `${sentence(name)} `, select);
}

// A text in lines, such as a log or a command, which the keyboard scrolls.
const preformatted = (label, text, look = "scroll log") => h("pre", { class: look, tabindex: "0", role: "region", "aria-label": label }, text);

// A control for each of these columns in which the rows differ.
const filters = (rows, at, ...keys) => keys.map((key) => {
  const values = unique(rows.map((row) => row[key])).filter(Boolean), shown = { workload: titleOf, framework: title, subject: title, baseline: title }[key] || String;
  return values.length < 2 ? null
    : choice(key, [["", "all"], ...values.map((value) => [value, shown(value)])], at.query.get(key) || "", (value) => go(at, { [key]: value }));
});

// The rows with these values; a missing value is empty.
function having(rows, where) {
  const keys = Object.entries(where).map(([key, value]) => [key, value || ""]);
  return rows.filter((row) => keys.every(([key, value]) => (row[key] || "") === value));
}

// The rows that the address asks for by these keys. A value that no row has, from another view or study, is ignored.
function wanted(rows, at, ...keys) {
  const keysInUse = keys.filter((key) => rows.some((row) => row[key] === at.query.get(key)));
  return rows.filter((row) => keysInUse.every((key) => row[key] === at.query.get(key)));
}

// A word with its meaning in the glossary, for a tooltip.
const meaning = (word) => DATA.glossary[String(word).toLowerCase()];
const term = (word, text = word) => (meaning(word) ? h("abbr", { title: meaning(word) }, text) : text);

// Keeps the rows that have every word of the text in what `told` says of them, and the box for it.
const searchBox = (at) => {
  const box = h("input", { type: "search", value: at.query.get("find") || "", "data-name": "Find", change: () => go(at, { find: box.value }) });
  return h("label", {}, "Find ", box);
};
function matching(rows, at, told) {
  const sought = (at.query.get("find") || "").toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => { const text = told(row).toLowerCase(); return sought.every((word) => text.includes(word)); });
}

// What is not there, and the command that makes it.
const missing = (text, command) => h("p", {}, text, ...(command ? [" ", h("code", {}, command)] : []));

// The value in the address if it is one of these, else the first.
const oneOf = (at, name, values) => (values.includes(at.query.get(name)) ? at.query.get(name) : values[0]);

// The study of some rows that a view shows: the one in the address, or else one with rows that the address asks for. With its control and
// the line that says where its results are from.
function studyOf(rows, at, first = (names) => names[0]) {
  const names = Object.keys(DATA.studies).filter((name) => rows.some((row) => row.study === name)), asked = wanted(rows, at, ...at.query.keys());
  const having = names.filter((name) => asked.some((row) => row.study === name));
  const study = oneOf(at, "study", [first(having.length ? having : names), ...names]);
  const control = choice("study", names, study, (value) => go(at, { study: value }));
  return { study, control, origin: study ? origin(study) : null, rows: rows.filter((row) => row.study === study) };
}

const origin = (study) => (DATA.studies[study] ? h("p", { class: "origin" }, `Study ${study}. ${DATA.studies[study].origin}`) : null);
