"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
const MAIN = document.getElementById("main");
const STAGES = { first: "First run", second: "Second run", steady: "Steady state" };

// An element with attributes and children; text goes in as text, so no name of a run can be markup.
function h(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

function s(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const title = (framework) => (DATA.frameworks[framework] || { title: framework }).title;
const colour = (framework) => (DATA.frameworks[framework] || { colour: "#555" }).colour;
const cellKey = (cell) => `${cell.device}/${cell.framework}/${cell.workload}`;
const unique = (values) => [...new Set(values)];

function number(value, count = 3) {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  if (size && (size < 1e-3 || size >= 1e6)) return value.toExponential(count - 1);
  return size >= 10 ** (count - 1) ? value.toFixed(0) : value.toPrecision(count);
}

function interval(low, high) {
  return low === null || low === undefined ? "" : `[${number(low)}, ${number(high)}]`;
}

// columns: [head, row => text or node, "number" or nothing]. The button copies what is shown.
function table(caption, columns, rows) {
  const body = rows.map((row) =>
    h("tr", {}, columns.map(([, show, kind]) => h("td", { class: kind }, show(row) ?? ""))));
  const made = h("table", {}, h("caption", {}, caption),
    h("thead", {}, h("tr", {}, columns.map(([head, , kind]) => h("th", { scope: "col", class: kind }, head)))),
    h("tbody", {}, body));
  const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
  const copy = h("button", { type: "button", click: () => {
    const lines = [...made.rows].map((row) => [...row.cells].map((cell) => quoted(cell.textContent)).join(","));
    navigator.clipboard.writeText(lines.join("\n"));
    copy.textContent = "Copied";
  } }, "Copy as CSV");
  return h("div", {}, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, made),
    h("p", { class: "bar" }, copy));
}

function choice(name, values, current, change) {
  const select = h("select", { change: () => change(select.value) },
    values.map(([value, text]) => h("option", { value, selected: value === current ? "" : null }, text)));
  return h("label", {}, `${name} `, select);
}

// The fragment of the address: view/of/what?filter=value
function place() {
  const [path, query] = decodeURI(location.hash.slice(1)).split("?");
  return { parts: path ? path.split("/") : ["start"], query: new URLSearchParams(query || "") };
}

function go(parts, query) {
  const asked = new URLSearchParams([...query].filter(([, value]) => value)).toString();
  location.hash = parts.join("/") + (asked ? `?${asked}` : "");
}

function filtered(parts, query, name, values, shown = (value) => value) {
  const all = [["", "all"], ...unique(values).map((value) => [value, shown(value)])];
  return choice(name, all, query.get(name) || "", (value) => { query.set(name, value); go(parts, query); });
}

const statusOf = (cell) => (cell.status === "ok" ? "ok" : `${cell.status}: ${cell.status_detail || ""}`);

function start() {
  const machine = DATA.meta.machine || {};
  const counts = unique(DATA.cells.map((cell) => cell.status)).map((status) =>
    `${DATA.cells.filter((cell) => cell.status === status).length} ${status}`);
  const bad = DATA.cells.filter((cell) => cell.status !== "ok");
  const verdicts = unique(DATA.claims.map((claim) => claim.verdict)).map((verdict) =>
    `${DATA.claims.filter((claim) => claim.verdict === verdict).length} ${verdict}`);
  return [
    h("h2", {}, "This run"),
    h("p", {}, `${DATA.meta.origin === "reference" ? "The reference" : "Measured here"}, preset ${DATA.meta.preset}, ` +
      `last process started ${DATA.meta.date_utc}, revision ${DATA.meta.git_revision}. ` +
      `${machine.cpu_model}, ${machine.cores} cores, ${number((machine.memory_bytes || 0) / 2 ** 30)} GiB, ${machine.os}.`),
    h("p", {}, `Cells: ${counts.join(", ")}. Claims: ${verdicts.join(", ")}.`),
    ...heat(),
    h("h2", {}, "Without a result"),
    bad.length ? table("Cells without a result, and why", [
      ["Workload", (cell) => h("a", { href: `#cell/${cellKey(cell)}` }, cell.title)],
      ["Framework", (cell) => title(cell.framework)], ["Device", (cell) => cell.device], ["Status", statusOf],
    ], bad) : h("p", {}, "Every cell has one."),
  ];
}

function heat() {
  const compilers = unique(DATA.matrix.map((row) => row.compiler));
  const frontends = unique(DATA.matrix.map((row) => row.framework));
  if (!DATA.matrix.length) return [h("p", {}, "No program was given to another compiler.")];
  const at = (workload, framework, compiler) => DATA.matrix.find((row) =>
    row.workload === workload && row.framework === framework && row.compiler === compiler);
  const shade = (over) => {
    const dark = Math.min(1, Math.log2(Math.max(1, over)) / 2);
    const level = Math.round(250 - 185 * dark);
    return `background: rgb(${level - 20}, ${level}, ${Math.min(255, level + 10)}); color: ${dark > 0.55 ? "#fff" : "#111"}`;
  };
  const lines = unique(DATA.matrix.map((row) => row.workload)).flatMap((workload) =>
    frontends.filter((name) => compilers.some((compiler) => at(workload, name, compiler))).map((name, place) => {
      const shown = DATA.matrix.find((row) => row.workload === workload).title;
      return h("tr", {}, h("th", { scope: "row" }, place ? "" : shown), h("td", {}, title(name)),
        compilers.map((compiler) => {
          const row = at(workload, name, compiler);
          if (!row || row.over_best === null) return h("td", { class: "heat" }, row ? row.status : "");
          return h("td", { class: "heat", style: shade(row.over_best) },
            h("a", { href: `#cell/cpu/${name}/${workload}`, title: `${number(row.replay_ms)} ms` }, `${number(row.over_best)}×`));
        }));
    }));
  return [h("h2", {}, "Frontends and compilers"),
    h("p", {}, "Time of every frontend's program in every compiler, over the best of its workload. A darker cell is slower."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Matrix" }, h("table", {},
      h("thead", {}, h("tr", {}, ["Workload", "Frontend", ...compilers].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, lines)))];
}

function cells({ parts, query }) {
  const wanted = (key) => (cell) => !query.get(key) || cell[key] === query.get(key);
  const rows = DATA.cells.filter(wanted("workload")).filter(wanted("framework")).filter(wanted("device")).filter(wanted("status"));
  const titles = Object.fromEntries(DATA.cells.map((cell) => [cell.workload, cell.title]));
  return [
    h("h2", {}, "Cells"),
    h("div", { class: "bar" },
      filtered(parts, query, "workload", DATA.cells.map((cell) => cell.workload), (name) => titles[name]),
      filtered(parts, query, "framework", DATA.cells.map((cell) => cell.framework), title),
      filtered(parts, query, "device", DATA.cells.map((cell) => cell.device)),
      filtered(parts, query, "status", DATA.cells.map((cell) => cell.status))),
    table(`${rows.length} of ${DATA.cells.length} cells; ms, with 95 % intervals over the rounds`, [
      ["Workload", (cell) => h("a", { href: `#cell/${cellKey(cell)}` }, cell.title)],
      ["Framework", (cell) => title(cell.framework)], ["Device", (cell) => cell.device], ["Status", (cell) => cell.status],
      ...Object.entries(STAGES).flatMap(([stage, head]) => [
        [head, (cell) => number(cell[`${stage}_ms`]), "number"],
        ["", (cell) => interval(cell[`${stage}_low_ms`], cell[`${stage}_high_ms`])],
      ]),
      ["Peak GiB", (cell) => (cell.peak_rss_bytes ? number(cell.peak_rss_bytes / 2 ** 30) : ""), "number"],
    ], rows),
  ];
}

function cell({ parts, query }) {
  const key = parts.slice(1).join("/");
  const found = DATA.cells.find((one) => cellKey(one) === key);
  if (!found) return [h("h2", {}, key), h("p", {}, "This run has no such cell; its program may have been replayed alone."), h("p", {}, h("a", { href: "#cells" }, "All cells"))];
  const details = DATA.details[key] || { calls: [], processes: [], sizes: {}, versions: {} };
  const processes = details.calls, listed = (values) => Object.entries(values).map(([name, value]) => `${name} ${value}`).join(", ");
  const parted = ["trace", "compile", "execute"].map((part) => [part, found[`first_${part}_ms`]]).filter(([, ms]) => ms !== null && ms !== undefined);
  const scale = query.get("scale") || "log";
  return [
    h("h2", {}, `${found.title}, ${title(found.framework)}, ${found.device}`),
    h("p", {}, `Status: ${statusOf(found)}. ${found.rounds || 0} rounds` + (found.stop_reason ? `, ended by: ${found.stop_reason}.` : ".")),
    table("Latency in ms", [
      ["Stage", ([, text]) => text], ["ms", ([stage]) => number(found[`${stage}_ms`], 4), "number"],
      ["95 % interval", ([stage]) => interval(found[`${stage}_low_ms`], found[`${stage}_high_ms`])],
    ], Object.entries(STAGES)),
    parted.length ? table("The first call, in ms", [["Part", ([part]) => part], ["ms", ([, ms]) => number(ms), "number"]], parted) : null,
    h("h3", {}, "Every call"),
    processes.length ? h("div", { class: "bar" }, choice("Scale", [["log", "logarithmic"], ["linear", "linear"]], scale,
      (value) => { query.set("scale", value); go(parts, query); })) : null,
    processes.length ? callsPlot(processes, found.framework, scale) : h("p", {}, "The raw calls of this cell are not in this report."),
    processes.length ? h("p", {}, "A line is one process: its first call, its second, and its blocks of calls. Filled: an uncontended block; hollow: one that other processes or the host disturbed.") : null,
    details.processes.length ? table("Processes", [
      ["Round", (one) => String(one.repetition + 1), "number"], ["Status", (one) => one.status], ["Started (UTC)", (one) => one.started_utc],
      ["Wall s", (one) => number(one.wall_s), "number"], ["Peak GiB", (one) => number(one.peak_rss_bytes / 2 ** 30), "number"],
      ["Environment", (one) => one.environment],
    ], details.processes) : null,
    details.processes.length ? h("p", {}, `Sizes: ${listed(details.sizes)}. Versions: ${listed(details.versions)}.`) : null,
    h("h3", {}, "Measured again"),
    h("pre", {}, `rm -r results/${DATA.meta.preset}/${key}\n.venv/bin/snakemake --cores all results/${DATA.meta.preset}/${key}/cell.json`),
  ];
}

function callsPlot(processes, framework, scale) {
  const width = 860, height = 320, left = 64, bottom = 40, top = 12;
  const series = processes.map((one) => [one.first, one.second, ...one.blocks].map((ms, place) =>
    ({ ms, call: place < 2 ? place + 1 : 3 + (place - 2) * one.calls, kept: place < 2 || one.kept[place - 2] === "1" })));
  const every = series.flat(), most = Math.max(...every.map((p) => p.call), 3);
  const values = every.map((p) => p.ms).filter((ms) => ms > 0), low = Math.min(...values), high = Math.max(...values);
  const log = scale === "log";
  const x = (call) => left + (width - left - 12) * (log ? Math.log(call) / Math.log(most) : (call - 1) / (most - 1));
  const share = (ms) => log ? Math.log(ms / low) / (Math.log(high / low) || 1) : ms / high;
  const y = (ms) => height - bottom - (height - bottom - top) * (log ? share(Math.max(ms, low)) : share(ms));
  const drawing = s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", width: "100%", style: `max-width: ${width}px`,
    "aria-label": `Latency against the number of the call, ${processes.length} processes, from ${number(low)} to ${number(high)} ms` });
  const text = (at, up, words, anchor) => { const made = s("text", { x: at, y: up, "text-anchor": anchor }); made.textContent = words; return made; };
  for (const ms of log ? [low, Math.sqrt(low * high), high] : [0, high / 2, high]) {
    drawing.append(s("line", { x1: left, x2: width - 12, y1: y(ms), y2: y(ms), stroke: "#ddd" }), text(left - 6, y(ms) + 4, number(ms), "end"));
  }
  for (const call of unique([1, 2, Math.max(3, Math.round(Math.sqrt(most))), most])) drawing.append(text(x(call), height - bottom + 18, String(call), "middle"));
  drawing.append(text(left, height - 4, "call", "start"), text(4, top + 2, "ms", "start"));
  for (const points of series) {
    drawing.append(s("polyline", { points: points.map((p) => `${x(p.call)},${y(p.ms)}`).join(" "), fill: "none", stroke: colour(framework), "stroke-opacity": 0.35 }));
    for (const p of points) drawing.append(s("circle", { cx: x(p.call), cy: y(p.ms), r: 2.6, stroke: colour(framework), fill: p.kept ? colour(framework) : "#fff" }));
  }
  return drawing;
}

function comparisons({ parts, query }) {
  const stage = query.get("stage") || "steady";
  const wanted = (key) => (row) => !query.get(key) || row[key] === query.get(key);
  let rows = DATA.ratios.filter((row) => row[`${stage}_ratio`] !== null && row[`${stage}_ratio`] !== undefined)
    .filter(wanted("workload")).filter(wanted("framework")).filter(wanted("device"));
  if (query.get("sort") === "effect") rows = [...rows].sort((a, b) => Math.abs(Math.log(b[`${stage}_ratio`])) - Math.abs(Math.log(a[`${stage}_ratio`])));
  const titles = Object.fromEntries(DATA.ratios.map((row) => [row.workload, row.title]));
  return [
    h("h2", {}, "Comparisons"),
    h("div", { class: "bar" },
      choice("Stage", Object.entries(STAGES), stage, (value) => { query.set("stage", value); go(parts, query); }),
      filtered(parts, query, "workload", DATA.ratios.map((row) => row.workload), (name) => titles[name]),
      filtered(parts, query, "framework", DATA.ratios.map((row) => row.framework), title),
      filtered(parts, query, "device", DATA.ratios.map((row) => row.device)),
      choice("Sort by", [["", "workload"], ["effect", "effect"]], query.get("sort") || "", (value) => { query.set("sort", value); go(parts, query); })),
    rows.length ? forest(rows, stage) : h("p", {}, "Nothing was compared."),
    table(`${STAGES[stage]}: time of the framework over its baseline's, with 95 % intervals`, [
      ["Workload", (row) => h("a", { href: `#cell/${cellKey(row)}` }, row.title)], ["Framework", (row) => title(row.framework)],
      ["Baseline", (row) => title(row.baseline)], ["Device", (row) => row.device],
      ["Ratio", (row) => number(row[`${stage}_ratio`]), "number"],
      ["95 % interval", (row) => interval(row[`${stage}_ratio_low`], row[`${stage}_ratio_high`])],
      ["Verdict", (row) => row[`${stage}_verdict`]], ["Rounds", (row) => String(row.rounds), "number"],
    ], rows),
  ];
}

function forest(rows, stage) {
  const line = 18, left = 320, width = 860, top = 22, height = top + line * rows.length + 26;
  const ends = rows.flatMap((row) => [row[`${stage}_ratio`], row[`${stage}_ratio_low`], row[`${stage}_ratio_high`]]).filter((v) => v > 0);
  const low = Math.min(0.5, ...ends), high = Math.max(2, ...ends);
  const clip = [Math.max(low, 1 / 64), Math.min(high, 64)];
  const x = (v) => left + (width - left - 20) * Math.log(Math.min(Math.max(v, clip[0]), clip[1]) / clip[0]) / Math.log(clip[1] / clip[0]);
  const drawing = s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", width: "100%", style: `max-width: ${width}px`,
    "aria-label": `Ratios of ${rows.length} comparisons with their intervals; the table below has them` });
  const text = (at, up, words, anchor) => { const made = s("text", { x: at, y: up, "text-anchor": anchor }); made.textContent = words; drawing.append(made); };
  for (const v of [1 / 32, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 32].filter((v) => v >= clip[0] && v <= clip[1])) {
    drawing.append(s("line", { x1: x(v), x2: x(v), y1: top - 4, y2: height - 22, stroke: v === 1 ? "#333" : "#ddd" }));
    text(x(v), height - 6, v < 1 ? `1/${1 / v}` : String(v), "middle");
  }
  rows.forEach((row, place) => {
    const y = top + line * place + 8, from = row[`${stage}_ratio_low`], to = row[`${stage}_ratio_high`];
    text(left - 10, y + 4, `${row.title}, ${title(row.framework)}${row.device === "cpu" ? "" : `, ${row.device}`}`, "end");
    if (from) drawing.append(s("line", { x1: x(from), x2: x(to), y1: y, y2: y, stroke: colour(row.framework), "stroke-width": 2 }));
    drawing.append(s("circle", { cx: x(row[`${stage}_ratio`]), cy: y, r: 4, fill: colour(row.framework) }));
  });
  return drawing;
}

function programs({ parts, query }) {
  if (!DATA.programs.length) return [h("h2", {}, "Programs"), h("p", {}, "This run has no pair of programs to list.")];
  const one = DATA.programs.find((program) => program.workload === parts[1]) || DATA.programs[0];
  const search = query.get("search") || "";
  const form = one.forms[query.get("form")] ? query.get("form") : Object.keys(one.forms)[0];
  const { texts, pairs, share } = one.forms[form];
  const wide = query.get("lines") !== "different";
  const box = h("input", { type: "search", value: search, change: () => { query.set("search", box.value); go(["programs", one.workload], query); } });
  const sides = [0, 1].map((side) => {
    const lines = pairs.filter((pair) => wide || pair.includes(null)).map((pair) => {
      const text = pair[side] === null ? "" : texts[side][pair[side]];
      const alone = pair[1 - side] === null && /^\s*%/.test(text);
      const kind = pair[side] === null ? "gap" : alone ? "alone" : "";
      return h("code", { class: search && text.includes(search) ? `${kind} hit` : kind || null }, alone ? `≠ ${text.trimStart()}` : text);
    });
    return h("div", { tabindex: "0", role: "region", "aria-label": title(one.sides[side]) }, lines);
  });
  return [
    h("h2", {}, `Programs: ${one.title}`),
    h("div", { class: "bar" },
      choice("Workload", DATA.programs.map((program) => [program.workload, program.title]), one.workload, (value) => go(["programs", value], query)),
      choice("Form", Object.keys(one.forms).map((name) => [name, name]), form, (value) => { query.set("form", value); go(["programs", one.workload], query); }),
      choice("Lines", [["", "all"], ["different", "only those without a counterpart"]], query.get("lines") || "", (value) => { query.set("lines", value); go(["programs", one.workload], query); }),
      h("label", {}, "Search ", box)),
    h("p", {}, `StableHLO, ${form}. Operations that compute the same to the same type stand side by side: ${number(100 * (share || 0))} % of both. ≠ marks one without a counterpart.`),
    h("div", { class: "sides" }, one.sides.map((framework) => h("h3", {}, title(framework))), sides),
  ];
}

const claims = ({ parts, query }) => [
  h("h2", {}, "Claims"),
  h("div", { class: "bar" }, filtered(parts, query, "verdict", DATA.claims.map((claim) => claim.verdict)),
    filtered(parts, query, "origin", DATA.claims.map((claim) => claim.origin))),
  table("Every claim, its verdict and the evidence", [
    ["Claim", (claim) => claim.sentence], ["Origin", (claim) => claim.origin], ["Verdict", (claim) => claim.verdict], ["Evidence", (claim) => claim.evidence],
  ], DATA.claims.filter((claim) => ["verdict", "origin"].every((key) => !query.get(key) || claim[key] === query.get(key)))),
];

const audits = () => [
  h("h2", {}, "Audits"),
  DATA.audits.length ? table("What the harness was tried with", [
    ["Audit", (audit) => audit.title], ["Verdict", (audit) => audit.verdict], ["What it is to show", (audit) => audit.aim], ["What came", (audit) => audit.detail],
  ], DATA.audits) : h("p", {}, "This run has no audits: make audits."),
];

const VIEWS = { start: ["Start", start], cells: ["Cells", cells], cell: [null, cell], comparisons: ["Comparisons", comparisons],
  programs: ["Programs", programs], claims: ["Claims", claims], audits: ["Audits", audits] };

function show() {
  const at = place();
  const [name, view] = VIEWS[at.parts[0]] || VIEWS.start;
  const current = name === null ? "cells" : at.parts[0];
  document.getElementById("views").replaceChildren(...Object.entries(VIEWS).filter(([, [text]]) => text).map(([key, [text]]) =>
    h("a", { href: `#${key}`, "aria-current": key === current ? "page" : null }, text)));
  MAIN.replaceChildren(...view(at).filter((part) => part !== null));
  document.title = `Stack Wars: ${MAIN.querySelector("h2").textContent}`;
  window.scrollTo(0, 0);
}

window.addEventListener("hashchange", show);
show();
