async function programs(at) {
  if (!DATA.programs.length) return [h("h2", {}, "Programs"), h("p", {}, "This run has no pair of programs to list.")];
  const one = DATA.programs.find((program) => program.workload === at.parts[1]) || DATA.programs[0];
  const here = { parts: ["programs", one.workload], query: at.query };
  const forms = await unpack(one.forms);
  const form = forms[at.query.get("form")] ? at.query.get("form") : Object.keys(forms)[0];
  const search = at.query.get("search") || "";
  const shown = { ...forms[form], taken: forms[form].compiler ? await timesOf(one, forms[form].compiler) : null };
  const box = h("input", { type: "search", value: search, "data-name": "Search", change: () => go(here, { search: box.value }) });
  const panel = h("div", { class: "detail", role: "status" }, h("p", {}, "Choose an operation to see what its class costs."));
  return [
    h("h2", {}, `Programs: ${one.title}`),
    h("div", { class: "bar" },
      choice("Workload", DATA.programs.map((program) => [program.workload, program.title]), one.workload, (value) => { location.hash = address(["programs", value], at.query); }),
      choice("Form", Object.keys(forms).map((name) => [name, name]), form, (value) => go(here, { form: value, operation: "" })),
      choice("Lines", [["", "all"], ["different", "only those without a counterpart"]], at.query.get("lines") || "", (value) => go(here, { lines: value })),
      h("label", {}, "Search ", box)),
    h("p", {}, `${about(shown, form)} ${number(100 * (shown.share || 0))} % of both. ≠ marks one without a counterpart.`,
      one.not_optimised ? ` There is no optimised form of it: ${one.not_optimised}.` : null),
    panel,
    h("div", { class: "sides" }, one.sides.map((framework) => h("h3", {}, title(framework))), sidesOf(one, shown, here, panel)),
  ];
}

function about(form, name) {
  if (!form.compiler) return `StableHLO, ${name}. Operations that compute the same to the same type stand side by side:`;
  return `HLO as ${form.compiler} has optimised what was emitted, for the CPU of the machine: the entry, and after each computation what it calls. ` +
    "Operations that compute the same to the same type, and fusions that hold the same operations, stand side by side:";
}

// Of each side the operations of its profiled call, by name; null where only sums are known.
const timesOf = (one, compiler) => Promise.all(one.sides.map(async (framework) => {
  const call = callsOf(one.workload, framework, compiler).find((found) => found.profile);
  if (!call) return null;
  const { operations } = await unpack(call.profile);
  return { call, ms: new Map(operations.map(([name, , ms]) => [name, ms])) };
}));

const callsOf = (workload, framework, compiler) => DATA.timeline.calls.filter((call) =>
  call.workload === workload && call.framework === framework && (!compiler || call.compiler === compiler));

// The lines of both programs. An operation is a button; the arrow keys go from one to the next.
function sidesOf(one, form, at, panel) {
  const search = at.query.get("search") || "", different = at.query.get("lines") === "different";
  const pairs = form.pairs.filter((pair) => !different || pair.includes(null));
  const choose = (button, side, pair) => {
    for (const other of document.querySelectorAll(".sides [data-selected]")) other.removeAttribute("data-selected");
    only(button);
    button.setAttribute("data-selected", "");
    panel.replaceChildren(...operation(one, form, side, pair));
    history.replaceState(null, "", changed(at, { operation: `${side}.${pair[side]}` }));
  };
  return [0, 1].map((side) => {
    const lines = pairs.map((pair) => {
      const text = pair[side] === null ? "" : form.texts[side][pair[side]];
      const isOperation = form.operations[side][pair[side]] === "1", alone = pair[1 - side] === null && isOperation;
      const kinds = [pair[side] === null ? "gap" : alone ? "alone" : "", search && text.includes(search) ? "hit" : ""].join(" ").trim();
      const shown = alone ? `≠ ${text.trimStart()}` : text;
      if (!isOperation) return h("code", { class: kinds || null }, shown);
      const button = h("button", { type: "button", class: `line ${kinds}`.trim(), tabindex: "-1", click: () => choose(button, side, pair) }, shown);
      if (at.query.get("operation") === `${side}.${pair[side]}`) {
        button.setAttribute("data-selected", "");
        panel.replaceChildren(...operation(one, form, side, pair));
      }
      return button;
    });
    const region = h("div", { role: "region", "aria-label": title(one.sides[side]), keydown: step }, lines);
    const first = region.querySelector("[data-selected]") || region.querySelector("button");
    (first || region).setAttribute("tabindex", "0");
    return region;
  });
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

// Of the operations of a program the tabulator stops at one alone.
function only(button) {
  button.parentElement.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
  button.setAttribute("tabindex", "0");
}

// What is known of one operation: its counterpart, its source line, and what its class takes of a call.
function operation(one, form, side, pair) {
  const line = pair[side], kind = form.classes[side][line], framework = one.sides[side];
  const other = pair[1 - side] === null ? "no counterpart" : `line ${pair[1 - side] + 1} of ${title(one.sides[1 - side])}`;
  const source = form.sources[side] && form.sources[side][line];
  return [
    h("p", {}, h("code", {}, form.texts[side][line].trim())),
    h("p", {}, `Line ${line + 1} of ${title(framework)}; ${other}. `,
      source ? `Source: ${source}.` : form.sources[side] ? "The program names no source line for it." : "The text of this program names no source lines."),
    ...(form.compiler ? ran(form, side, line) : []),
    ...costs(one.workload, framework, kind, form.compiler),
  ];
}

// What the operations that run for a line of an optimised program take: itself, the fusion around it, or all that it calls.
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
  const found = callsOf(workload, framework, compiler);
  if (!found.length) return [h("p", {}, `Class: ${DATA.timeline.classes[kind].title}. No profile of this program is in the report.`)];
  return [
    h("p", {}, compiler ? "" : "A compiler fuses operations before it runs them, so time is known by class and not for this line alone. ",
      link("The whole call", ["timeline", workload])),
    table(`What ${DATA.timeline.classes[kind].title} take of one profiled call of this program`, [
      ["Compiler", (call) => call.compiler], ["ms", (call) => number(call.parts[kind].ms), "number"],
      ["Share of the call", (call) => percent(call.parts[kind].share), "number"],
      ["Operations that run", (call) => String(call.parts[kind].operations), "number"],
      ["Agrees with a timed call", (call) => (call.adds_up ? "yes" : "no")],
    ], found),
  ];
}
