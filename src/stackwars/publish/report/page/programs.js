const LINES = { "": "all", quiet: "without constants and broadcasts", different: "only those without a counterpart", both: "only those without a counterpart, no constants" };

async function programs(at) {
  if (!DATA.programs.length) return [h("h2", {}, "Programs"), h("p", {}, "This run has no two programs to list.")];
  const one = DATA.programs.find((program) => program.workload === at.parts[1]) || DATA.programs[0];
  const here = { parts: ["programs", one.workload], query: at.query };
  const forms = await unpack(one.forms);
  const form = oneOf(at, "form", unique([...["normalised"].filter((name) => forms[name]), ...Object.keys(forms)]));
  const available = one.frameworks.filter((name) => forms[form].sides[name]);
  const left = available.includes(at.query.get("left")) ? at.query.get("left") : available[0];
  const others = available.filter((name) => name !== left);
  const right = others.includes(at.query.get("right")) ? at.query.get("right") : others[0];
  const search = at.query.get("search") || "", shown = await pairOf(forms[form], one, [left, right]);
  const box = h("input", { type: "search", value: search, "data-name": "Search", change: () => go(here, { search: box.value }) });
  const panel = h("div", { class: "detail", role: "status" }, h("p", {}, "Choose an operation to see what its class costs."));
  const both = sidesOf(one, shown, here, panel), matches = jumps(both, search);
  box.addEventListener("keydown", (event) => { if (event.key === "Enter" && search && box.value === search) matches.next(event.shiftKey ? -1 : 1); });
  const sideChoice = (name, values, current) => choice(name, values.map((framework) => [framework, title(framework)]), current,
    (value) => go(here, { left, right, [name.toLowerCase()]: value, operation: "" }));
  return [
    h("h2", {}, `Programs: ${one.title}`),
    h("div", { class: "bar" },
      choice("Workload", DATA.programs.map((program) => [program.workload, program.title]), one.workload, (value) => { location.hash = address(["programs", value], at.query); }),
      sideChoice("Left", available, left), sideChoice("Right", others, right),
      choice("Form", Object.keys(forms), form, (value) => go(here, { form: value, operation: "" })),
      choice("Lines", Object.entries(LINES), at.query.get("lines") || "", (value) => go(here, { lines: value })),
      choice("Layers", [["", "folded"], ["all", "all"]], at.query.get("layers") || "", (value) => go(here, { layers: value })),
      h("label", {}, "Search ", box), ...matches.controls),
    h("p", {}, `${about(shown, form)} ${number(100 * (shown.share || 0))} % of both. ≠ marks one without a counterpart.`, ...omitted(one, forms, form)),
    elsewhere(one.workload),
    h("details", {}, h("summary", {}, "Operations by name, in both programs"), kindsTable(kindRows(shown.kinds), shown.names)),
    panel,
    h("div", { class: "sides" }, shown.names.map((framework) => h("h3", {}, title(framework),
      one.runs[framework] ? h("small", {}, ` of the accepted run ${one.runs[framework]}`) : null)), both),
  ];
}

function omitted(one, forms, form) {
  const message = Object.entries(one.left_out).map(([framework, why]) => ` ${title(framework)} is not shown: ${why}.`);
  if (forms.optimised && form !== "optimised") return message;
  const reasons = unique(Object.values(one.not_optimised)).map((why) =>
    ` No optimised form of ${Object.keys(one.not_optimised).filter((name) => one.not_optimised[name] === why).map(title).join(", ")}: ${why}.`);
  return [...message, ...reasons];
}

// Two programs of a form: their lines, and which stands opposite which, [line or null, line or null].
async function pairOf(form, one, names) {
  const turned = !form.pairs[names.join(" ")];
  const { blocks, share } = form.pairs[turned ? [...names].reverse().join(" ") : names.join(" ")];
  const sides = names.map((name) => form.sides[name]), ends = sides.map((side) => side.texts.length);
  const pairs = [], reached = [0, 0];
  const alone = (upTo) => [0, 1].forEach((side) => {
    for (; reached[side] < upTo[side]; reached[side] += 1) pairs.push(side ? [null, reached[1]] : [reached[0], null]);
  });
  for (const [a, b, size] of blocks) {
    alone(turned ? [b, a] : [a, b]);
    for (let line = 0; line < size; line += 1) pairs.push([reached[0]++, reached[1]++]);
  }
  alone(ends);
  const of = (name) => sides.map((side) => side[name]);
  return { names, pairs, share, compiler: form.compiler, texts: of("texts"), classes: of("classes"), sources: of("sources"), operations: of("operations"),
    runs: of("runs"), noise: of("noise"), layers: of("layers"), kinds: of("kinds"), taken: form.compiler ? await timesOf(one, names, form.compiler) : null };
}

function about(form, name) {
  if (!form.compiler) return `StableHLO, ${name}. Operations that compute the same to the same type stand side by side:`;
  return `HLO as ${form.compiler} has optimised what was emitted, for the CPU of the machine: the entry, and after each computation what it calls. ` +
    "Operations that compute the same to the same type, and fusions that hold the same operations, stand side by side:";
}

// The operations of each side's profiled call, by name; null if only sums are known.
const timesOf = (one, names, compiler) => Promise.all(names.map(async (framework) => {
  const call = callsOf(one.workload, framework, compiler).find((each) => each.profile);
  if (!call) return null;
  const { operations } = await unpack(call.profile);
  return { call, ms: new Map(operations.map(([name, , ms]) => [name, ms])) };
}));

// The profiled calls of a program, of one study: this run's before the reference's, and those with their operations first.
function callsOf(workload, framework, compiler) {
  const matches = having(DATA.timeline.calls, { workload, framework, ...(compiler ? { compiler } : {}) })
    .sort((a, b) => isOther(a) - isOther(b) || none(a.profile) - none(b.profile));
  return matches.filter((call) => call.study === matches[0].study);
}

// The lines of both programs. An operation is a button; the arrow keys go from one to the next. What stands opposite
// each other is marked together, where the pointer or the focus is and where an operation is chosen.
function sidesOf(one, form, at, panel) {
  const search = (at.query.get("search") || "").toLowerCase(), kept = at.query.get("lines") || "";
  const isNoise = (pair) => pair.every((line, side) => line === null || form.noise[side][line] === "1");
  const chosen = form.pairs.filter((pair) => (!["different", "both"].includes(kept) || pair.includes(null)) && (!["quiet", "both"].includes(kept) || !isNoise(pair)));
  // What is sought or chosen may be in a layer, so nothing is folded then.
  const isOpen = search || at.query.get("operation") || at.query.get("layers") === "all", pairs = isOpen ? chosen : folded(chosen, form.layers);
  const regions = [null, null];
  const together = (place, name, on) => regions.forEach((region) => region.children[place].toggleAttribute(name, on));
  const pointed = (event, on) => {
    const line = event.target.closest("[data-place]");
    if (line) together(Number(line.dataset.place), "data-together", on);
  };
  const choose = (button, side, place) => {
    for (const other of document.querySelectorAll(".sides [data-selected], .sides [data-opposite]")) {
      other.removeAttribute("data-selected");
      other.removeAttribute("data-opposite");
    }
    only(button);
    select(button, side, place);
    history.replaceState(null, "", changed(at, { operation: `${side}.${pairs[place][side]}` }));
  };
  const select = (button, side, place) => {
    button.setAttribute("data-selected", "");
    if (pairs[place][1 - side] !== null) regions[1 - side].children[place].setAttribute("data-opposite", "");
    panel.replaceChildren(...operation(one, form, side, pairs[place]));
  };
  [0, 1].forEach((side) => {
    const lines = pairs.map((pair, place) => {
      if (pair.folded) return foldLine(pair, at);
      const text = pair[side] === null ? "" : form.texts[side][pair[side]];
      const isOperation = form.operations[side][pair[side]] === "1", alone = pair[1 - side] === null && isOperation;
      const kinds = [pair[side] === null ? "gap" : alone ? "alone" : "", search && text.toLowerCase().includes(search) ? "hit" : ""].join(" ").trim();
      const shown = alone ? `≠ ${text.trimStart()}` : text;
      const matched = pair.includes(null) ? null : place;
      if (!isOperation) return h("code", { class: kinds || null, "data-place": matched }, shown);
      return h("button", { type: "button", class: `line ${kinds}`.trim(), tabindex: "-1", "data-place": matched,
        click: (event) => choose(event.currentTarget, side, place) }, shown);
    });
    regions[side] = h("div", { role: "region", "aria-label": title(form.names[side]), keydown: step,
      pointerover: (event) => pointed(event, true), pointerout: (event) => pointed(event, false),
      focusin: (event) => pointed(event, true), focusout: (event) => pointed(event, false) }, lines);
  });
  const [side, line] = (at.query.get("operation") || "").split(".").map(Number);
  const place = pairs.findIndex((pair) => pair[side] === line);
  if (place >= 0 && form.operations[side][line] === "1") select(regions[side].children[place], side, place);
  scrollTogether(regions);
  for (const region of regions) (region.querySelector("[data-selected]") || region.querySelector("button") || region).setAttribute("tabindex", "0");
  return regions;
}

// One is scrolled sideways with the other; the narrower one, which ends first, does not pull the other back.
function scrollTogether(regions) {
  let leading = null;
  for (const [side, region] of regions.entries()) region.addEventListener("scroll", () => {
    if (leading && leading !== region) return;
    leading = region;
    regions[1 - side].scrollLeft = region.scrollLeft;
    setTimeout(() => { leading = null; }, 100);
  });
}

const LEAST_FOLDED = 8;

// The pairs of lines with one in place of each stretch that both programs only repeat: all layers of a model after its first.
function folded(pairs, layers) {
  const isLater = (side, line) => line === null || layers[side].some(([start, period, copies]) => line >= start + period && line < start + period * copies);
  const result = [];
  let stretch = [];
  const close = () => {
    const counts = [0, 1].map((side) => stretch.filter((pair) => pair[side] !== null).length);
    result.push(...(stretch.length < LEAST_FOLDED ? stretch : [Object.assign([null, null], { folded: counts })]));
    stretch = [];
  };
  for (const pair of pairs) {
    if (pair.every((line, side) => isLater(side, line))) { stretch.push(pair); continue; }
    close();
    result.push(pair);
  }
  close();
  return result;
}

const foldLine = (pair, at) => h("button", { type: "button", class: "line gap", tabindex: "-1", click: () => go(at, { layers: "all" }) },
  `\u22ef layers like the ones above: ${pair.folded[0]} lines at the left, ${pair.folded[1]} at the right. Unfold`);

// [operation, its number at the left, at the right], those first whose numbers differ most.
function kindRows([left, right]) {
  const rows = unique([...Object.keys(left), ...Object.keys(right)]).map((name) => [name, left[name] || 0, right[name] || 0]);
  return rows.sort((a, b) => Math.abs(b[2] - b[1]) - Math.abs(a[2] - a[1]) || a[0].localeCompare(b[0]));
}

// A histogram of operations: their numbers in both programs, with bars of one scale.
function kindsTable(rows, names) {
  const most = Math.max(1, ...rows.flatMap(([, one, other]) => [one, other]));
  const bar = (count, name) => h("span", {}, s("svg", { width: 90, height: 12, "aria-hidden": "true" }, s("rect", { x: 0, y: 1, width: 90 * count / most, height: 10, fill: colour(name) })), ` ${count}`);
  return table(`${rows.filter(([, one, other]) => one !== other).length} of ${rows.length} operations differ in number`, [
    ["Operation", ([name]) => h("code", {}, name)], ...names.map((name, side) => [title(name), (row) => bar(row[1 + side], name), "keep"]),
    ["Difference", ([, one, other]) => (other - one > 0 ? `+${other - one}` : String(other - one)), "number"],
  ], rows);
}

// Goes from hit to hit, in the order of the lines, of both programs.
function jumps(regions, search) {
  if (!search) return { controls: [], next: () => {} };
  const hits = [...regions[0].children].flatMap((line, place) => [line, regions[1].children[place]]).filter((line) => line.classList.contains("hit"));
  const message = h("span", { role: "status" }, hits.length ? `${hits.length} hits` : "no hit");
  let at = -1;
  const next = (by) => {
    if (!hits.length) return;
    hits[at]?.removeAttribute("data-hit");
    at = at < 0 && by < 0 ? hits.length - 1 : (at + by + hits.length) % hits.length;
    hits[at].setAttribute("data-hit", "");
    hits[at].scrollIntoView({ block: "center", inline: "nearest" });
    message.textContent = `hit ${at + 1} of ${hits.length}`;
  };
  const turn = (text, by) => h("button", { type: "button", "data-name": text, click: () => next(by) }, text);
  return { controls: hits.length ? [turn("Previous hit", -1), turn("Next hit", 1), " ", message] : [message], next };
}

function step(event) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const buttons = [...event.currentTarget.querySelectorAll("button")];
  const next = by && buttons[buttons.indexOf(document.activeElement) + by];
  if (!next) return;
  event.preventDefault();
  only(next);
  next.focus();
}

// The tabulator stops at only one of a program's operations.
function only(button) {
  button.parentElement.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
  button.setAttribute("tabindex", "0");
}

// The facts about one operation: its counterpart, its source line, and what its class takes of a call.
function operation(one, form, side, pair) {
  const line = pair[side], kind = form.classes[side][line], framework = form.names[side];
  const other = pair[1 - side] === null ? "no counterpart" : `line ${pair[1 - side] + 1} of ${title(form.names[1 - side])}`;
  const source = form.sources[side] && form.sources[side][line];
  return [
    h("p", {}, h("code", {}, form.texts[side][line].trim())),
    h("p", {}, `Line ${line + 1} of ${title(framework)}; ${other}. `,
      source ? `Source: ${source}.` : form.sources[side] ? "The program names no source line for it." : "The text of this program names no source lines."),
    ...(form.compiler ? ran(form, side, line) : []),
    ...costs(one.workload, framework, kind, form.compiler),
  ];
}

// The time of the operations that run for a line of an optimised program: itself, the fusion around it, or all that it calls.
function ran(form, side, line) {
  const names = form.runs[side][line], taken = form.taken[side];
  if (!names.length) return [];
  if (!taken) return [h("p", {}, "Times of single operations are not in this report.")];
  const seen = names.filter((name) => taken.ms.has(name));
  if (!seen.length) return [h("p", {}, "The profile has no operation of this name.")];
  const ms = seen.reduce((sum, name) => sum + taken.ms.get(name), 0);
  return [h("p", {}, `It runs as ${seen.length > 3 ? `${seen.length} operations` : seen.join(", ")}: ${number(ms)} ms, ${percent(ms / taken.call.profiled_ms)} of the profiled call.`)];
}

function costs(workload, framework, kind, compiler) {
  if (!kind) return [h("p", {}, "No time is its own: it computes nothing, or only has other operations run.")];
  const matches = callsOf(workload, framework, compiler);
  if (!matches.length) return [h("p", {}, `Class: ${DATA.timeline.classes[kind].title}. No profile of this program is in the report.`)];
  return [
    h("p", {}, compiler ? "" : "A compiler fuses operations before it runs them, so time is known by class and not for this line alone. ",
      link("The whole call", ["timeline", workload])),
    table(`What ${DATA.timeline.classes[kind].title} take of one profiled call of this program`, [
      "Compiler", ["ms", (call) => number(call[`${kind}_ms`]), "number"],
      ["Share of the call", (call) => percent(call[`${kind}_ms`] / call.profiled_ms), "number"],
      ["Operations that run", (call) => String(call[`${kind}_operations`]), "number"],
      ["Agrees with a timed call", (call) => (call.profile_consistent ? "yes" : "no")],
    ], matches),
  ];
}
