"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
const MAIN = document.getElementById("main");
const STAGES = { first: "First run", second: "Second run", steady: "Steady state" };

// The children that exist, with nested lists flattened.
const some = (children) => children.flat().filter((child) => child !== null && child !== undefined);

// An element with attributes and children; text goes in as text, so no name of a run can be markup.
function h(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...some(children));
  return node;
}

function s(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...some(children));
  return node;
}

const words = (x, y, text, anchor = "start") => s("text", { x, y, "text-anchor": anchor }, String(text));

const drawing = (width, height, label, ...children) => s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", width: "100%",
  style: `max-width: ${width}px`, "aria-label": label }, ...children);

const title = (framework) => (DATA.frameworks[framework] || { title: framework }).title;
const colour = (framework) => (DATA.frameworks[framework] || { colour: "#555" }).colour;
const TITLES = Object.fromEntries([...DATA.cells, ...DATA.programs, ...DATA.timeline.calls].map((one) => [one.workload, one.title]));
const titleOf = (workload) => TITLES[workload] || workload;
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
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// Hands a file to the reader that is node here.
function save(name, text, kind) {
  const url = URL.createObjectURL(new Blob([text], { type: kind }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
