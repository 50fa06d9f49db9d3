// One profiled call of every frontend's program of a workload in one compiler, on one axis.
async function timeline(at) {
  const named = DATA.timeline.calls.filter((call) => call.workload === at.parts[1]);
  const { control, origin: from, rows: calls } = studyOf(named.length ? named : DATA.timeline.calls, at);
  if (!calls.length) return [h("h2", {}, "Timeline"), h("p", {}, "No program was profiled.")];
  const workload = calls.some((call) => call.workload === at.parts[1]) ? at.parts[1] : calls[0].workload;
  const here = { parts: ["timeline", workload], query: at.query };
  const own = calls.filter((call) => call.workload === workload), compilers = unique(own.map((call) => call.compiler));
  const compiler = oneOf(at, "compiler", compilers);
  const shown = await Promise.all(own.filter((call) => call.compiler === compiler).map(async (call) =>
    ({ ...call, ...(call.profile ? await unpack(call.profile) : { operations: [], spans: [] }) })));
  const timed = shown.filter((call) => call.spans.length), traced = !timed.length ? null : h("button", { type: "button", click: () =>
    save(`${workload}-${compiler}.trace.json`, JSON.stringify(trace(timed)), "application/json") }, "Save as a trace, for Perfetto");
  return [
    h("h2", {}, `Timeline: ${titleOf(workload)}`),
    h("div", { class: "bar" }, control,
      choice("Workload", unique(DATA.timeline.calls.map((call) => call.workload)).map((name) => [name, titleOf(name)]), workload, (value) => { location.hash = address(["timeline", value], at.query); }),
      choice("Compiler", compilers, compiler, (value) => go(here, { compiler: value })), traced),
    from, h("p", {}, aboutCalls(shown)),
    legend(Object.values(DATA.timeline.classes).map((kind) => [part(1, 1, 12, 12, kind), kind.title])),
    bars(shown),
    table("Time by class, in ms of one profiled call", [
      "Frontend", ...Object.entries(DATA.timeline.classes).map(([name, kind]) => [kind.title, `${name}_ms`, "digits"]), ["Full call", "profiled_ms", "digits"], ["Timed call", "call_ms", "digits"],
      ["Agree", (call) => (call.profile_consistent ? "yes" : "no")],
    ], shown),
    ...shown.filter((call) => call.operations.length).map((call) => table(`Longest operations of ${title(call.framework)}`, [
      ["Operation", ([name, , , text]) => (text ? `${name}: ${text}` : name)], ["Class", ([, kind]) => DATA.timeline.classes[kind].title],
      ["ms", ([, , ms]) => number(ms), "number"], ["Share of the call", ([, , ms]) => percent(ms / call.profiled_ms), "number"],
    ], call.operations, call.operations.slice(0, 20))),
  ];
}

function aboutCalls(shown) {
  const sums = shown.filter((call) => !call.spans.length).map((call) => title(call.framework));
  const [{ run }] = shown;
  return "The profiled call of median time of each frontend's program. " +
    (sums.length ? `Of ${sums.length === shown.length ? "these" : sums.join(", ")} only sums are known: ` +
      "a part is all the time of its class, and the parts do not stand in the order in which the operations ran. " : "") +
    (shown.every((call) => call.profile_consistent) ? "" : "* marks a call that differs by more than a tenth from one without the profiler. ") +
    (run ? `The profile is of the run ${run}.` : "");
}

const part = (x, y, width, height, kind, tooltip) => s("rect", { x, y, width, height, fill: kind.colour, stroke: "#333", "stroke-width": 0.5 },
  tooltip ? s("title", {}, tooltip) : null);

const LEAST_MS = 1e-6;

// Operations that run at once, or begin at once, stand below each other, in as few rows as hold them.
function rowsOf(spans) {
  const ends = [];
  return spans.map(([, start, duration]) => {
    let row = ends.findIndex((end) => end <= start);
    if (row < 0) row = ends.push(0) - 1;
    ends[row] = start + Math.max(duration, LEAST_MS);
    return row;
  });
}

function bars(shown) {
  const labels = shown.map((call) => `${title(call.framework)}${call.spans.length ? "" : " (sums)"}${signed(call)}`);
  const left = reach(labels), width = wide(1100), right = 80, line = 22;
  const longest = Math.max(...shown.map((call) => call.profiled_ms));
  const x = (ms) => left + (width - left - right) * ms / longest;
  const { classes } = DATA.timeline;
  const parts = [];
  let top = 8;
  for (const [place, call] of shown.entries()) {
    const rows = rowsOf(call.spans), high = Math.min(line, 66 / (1 + Math.max(0, ...rows)));
    parts.push(words(left - 8, top + 15, labels[place], "end"));
    let reached = 0;
    const block = (ms, from, up, name, kind) => parts.push(part(x(from), up, Math.max(0.3, x(from + ms) - x(from)), high - 2, classes[kind],
      `${name}: ${number(ms)} ms, ${percent(ms / call.profiled_ms)}`));
    if (call.spans.length) {
      parts.push(s("line", { x1: x(0), x2: x(call.profiled_ms), y1: top - 2, y2: top - 2, stroke: "#999" }));
      call.spans.forEach(([place, start, duration], at) => block(duration, start, top + high * rows[at], ...call.operations[place]));
    } else {
      for (const kind of Object.keys(classes)) {
        const ms = call[`${kind}_ms`] || 0;
        if (ms > 0) block(ms, reached, top, classes[kind].title, kind);
        reached += Math.max(0, ms);
      }
    }
    parts.push(words(x(call.profiled_ms) + 6, top + 15, `${number(call.profiled_ms)}${call.profile_consistent ? "" : " *"}`));
    top += Math.max(line, high * (1 + Math.max(0, ...rows))) + 8;
  }
  for (const tick of ticks(0, longest)) {
    parts.unshift(s("line", { x1: x(tick), x2: x(tick), y1: 0, y2: top, stroke: "#ddd" }));
    parts.push(words(x(tick), top + 16, short(tick), "middle"));
  }
  parts.push(words(left, top + 32, "ms since the call began"));
  return drawing(width, top + 40, `One call of ${shown.length} frontends, up to ${number(longest)} ms; the tables below have the numbers`, ...parts);
}

// Calls of known operations as Chrome's trace events, which Perfetto opens: a process for each frontend, in microseconds.
// Numbers of processes and threads begin at 1 and no thread has that of another, for Perfetto gives 0 a meaning of
// its own and finds the name of a thread by its number alone.
function trace(shown) {
  let threads = 0;
  const events = shown.flatMap((call, place) => {
    const pid = place + 1, rows = rowsOf(call.spans), first = threads + 1, count = 1 + Math.max(0, ...rows);
    threads += count;
    const about = (name, tid, args) => ({ ph: "M", pid, tid, name, args });
    const event = (name, kind, from, to, row) => ({ ph: "X", pid, tid: first + row, name, cat: kind, ts: microseconds(from), dur: microseconds(to - from), args: {} });
    return [
      about("process_name", first, { name: `${title(call.framework)}, ${call.compiler}` }),
      about("process_sort_index", first, { sort_index: pid }),
      ...[...Array(count).keys()].map((row) => about("thread_name", first + row, { name: row ? `operations, row ${row + 1}` : "operations" })),
      ...call.spans.map(([at, start, duration], span) => event(...call.operations[at].slice(0, 2), nanoseconds(start), nanoseconds(start + duration), rows[span])),
    ];
  });
  return { traceEvents: events, displayTimeUnit: "ns" };
}

const nanoseconds = (ms) => Math.round(1e6 * ms);

// Perfetto cuts a thousand times this off to whole nanoseconds: one less would let two neighbours overlap.
const microseconds = (ns) => (Math.trunc((ns / 1e3) * 1e3) < ns ? (ns / 1e3) * (1 + Number.EPSILON) : ns / 1e3);
