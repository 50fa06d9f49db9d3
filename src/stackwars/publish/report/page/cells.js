// The steady time of a cell; struck out if its values are wrong.
const steadyTime = (cell, digits) => (none(cell.struck_ms) ? number(cell.steady_ms, digits) : h("s", { title: "the time of a wrong result" }, number(cell.struck_ms, digits)));
// What the values of a cell were compared with, and how far they are off.
const valuesText = (cell) => (none(cell.parity_rel_l2) ? "" : ` Relative L2 error of its values: ${number(cell.parity_rel_l2)}` +
  `${cell.judge ? `, judged by ${cell.judge}` : ", against the baseline's"}${cell.wrong_elements ? `; ${cell.wrong_elements} elements are wrong, by up to ${number(cell.largest_error)} of the output's scale` : ""}.`);

const STATUS = { "": "all that were run", any: "all" };

function cells(at) {
  const { study, control, origin: from, rows: own } = studyOf(DATA.cells, at);
  const modes = unique(own.map((cell) => cell.mode)), mode = oneOf(at, "mode", modes), all = own.filter((cell) => cell.mode === mode);
  const status = at.query.get("status") || "", ofStatus = (cell) => (status ? status === "any" || cell.status === status : cell.status !== "not run");
  const told = (cell) => [cell.workload, cell.title, title(cell.framework), cell.device, cell.compiler, statusOf(cell)].join(" ");
  const rows = matching(wanted(all, at, "workload", "framework", "device", "compiler", "size").filter(ofStatus), at, told);
  const { shown, pager } = paged(rows, at);
  return [
    h("h2", {}, "Cells"),
    h("div", { class: "bar" }, control,
      choice("mode", modes, mode, (value) => go(at, { mode: value })),
      filters(all, at, "workload", "framework", "device", "compiler", "size"),
      choice("status", [...Object.entries(STATUS), ...unique(all.map((cell) => cell.status))], status, (value) => go(at, { status: value })), searchBox(at)),
    from, pager,
    table(`${rows.length} of ${all.length} cells; ms, with 95 % intervals over the rounds`, [
      ["Workload", (cell) => (mode === "replay" ? link(cell.title, replayParts(cell)) : mode === "native" ? cellLink(cell.title, cell) : cell.title)],
      "Framework", "Device", "Compiler",
      ["Size", (cell) => (cell.size ? `${cell.size} ${cell.value}` : ""), "keep"], ["Call", "pass"], "Status",
      ...Object.entries(STAGES).flatMap(([stage, head]) => [
        [head, (cell) => (stage === "steady" ? steadyTime(cell) : number(cell[`${stage}_ms`])), "number"],
        ["interval", (cell) => interval(cell[`${stage}_low_ms`], cell[`${stage}_high_ms`]), "keep"],
      ]),
      ["Peak GiB", (cell) => (cell.peak_rss_bytes ? number(cell.peak_rss_bytes / 2 ** 30) : ""), "number"],
      ["Over its fastest compiler", "over_best", "digits"], ["Compile s", "compile_s", "digits"],
      ["What a call did", "shape"], ["Collectives", (cell) => (cell.collectives ? collectives(JSON.parse(cell.collectives)) : "")],
      ["Why", (cell) => (hasView("why", cell.workload) ? whyLink(cell.workload, "why") : "")], "Run",
    ], rows, shown),
  ];
}

const collectives = (kinds) => Object.entries(kinds).filter(([, count]) => count).map(([kind, count]) => `${kind.replaceAll("_", " ")} ${count}`).join(", ") || "none";
const valuesOf = (values) => Object.entries(values).map(([name, value]) => `${name} ${value}`).join(", ");

// Raw calls are in the report for the rows of one run alone.
const rawOf = (row, packed) => ((row.run || "") === DATA.raw_run && packed ? unpack(packed) : null);

// Links to the other views that show a workload.
const elsewhere = (workload, ...more) => h("p", {}, "Also: ", listOf([...more.filter(Boolean),
  ...OF_A_WORKLOAD.filter((view) => view !== place().parts[0] && hasView(view, workload)).map((view) => h("a", { href: ofWorkload(view, workload) }, VIEWS[view][0]))]), ".");

// The commands that measure a cell or replay: again if it is of this run, else in a run of its own.
function commands(row, path, file) {
  const { folder, option } = DATA.studies[row.study], again = !row.run;
  return [
    h("h3", {}, again ? "Measure it again" : "Measure it here"),
    preformatted("Commands", `${again ? `rm -r ${folder}/${path}\n` : ""}.venv/bin/snakemake --cores 1 ${option}${folder}/${path}/${file}`, "scroll"),
  ];
}

async function cell(at) {
  const [, study, ...key] = at.parts, path = key.join("/");
  const current = DATA.cells.find((one) => one.mode === "native" && one.study === study && cellKey(one) === path);
  if (!current) return [h("h2", {}, path || "Cell"), h("p", {}, "There is no such cell; its program may have been replayed alone."), h("p", {}, link("All cells", ["cells"]))];
  const details = (await rawOf(current, DATA.details[path])) || { calls: [], processes: [] };
  const parted = ["trace", "compile", "execute"].map((part) => [part, current[`first_${part}_ms`]]).filter(([, ms]) => !none(ms));
  const others = DATA.cells.filter((one) => one !== current && one.mode === "native" && cellKey(one) === path && one.run !== current.run);
  return [
    h("h2", {}, `${current.title}, ${title(current.framework)}, ${current.device}`),
    origin(study),
    h("p", {}, `Status: ${statusOf(current)}. ${current.rounds || 0} rounds${current.run ? `, in the run ${current.run}` : ""}.` +
      (none(current.kept_share) ? "" : ` ${percent(current.kept_share)} of its blocks were uncontended; most processes were ${current.steady_class || "of no class"}.`) + valuesText(current)),
    none(current.struck_ms) ? null : h("p", {}, steadyTime(current, 4), " ms a call in the steady state: the time of a wrong result, which is compared with none."),
    elsewhere(current.workload, ...others.map((one) => cellLink(`the same in the study ${one.study}`, one))),
    current.status === "ok" ? table("Latency in ms", [
      ["Stage", ([, text]) => text], ["ms", ([stage]) => number(current[`${stage}_ms`], 4), "number"],
      ["95 % interval", ([stage]) => interval(current[`${stage}_low_ms`], current[`${stage}_high_ms`])],
    ], [...Object.entries(STAGES), ...(none(current.throughput_ms) ? [] : [["throughput", "A call of 16, fenced once"]])]) : null,
    parted.length ? table("The first call, in ms", [["Part", ([part]) => part], ["ms", ([, ms]) => number(ms), "number"]], parted) : null,
    ...everyCall(details.calls, current.framework, at),
    ...(details.processes.length ? [
      ...memoryOverTime(details.processes, current.framework, at),
      table("Processes", [
        ["Round", (one) => String(one.repetition + 1), "number"], ["Status", "status"], ["Started (UTC)", "started_utc"], ["Wall s", "wall_s", "digits"],
        ["Peak GiB", (one) => number(one.peak_rss_bytes / 2 ** 30), "number"], ["Environment", "environment"],
      ], details.processes),
      ...logs(details.processes),
      h("p", {}, `Sizes: ${valuesOf(details.sizes)}. Versions: ${valuesOf(details.versions)}.`)] : []),
    ...commands(current, path, "cell.json"),
  ];
}

// One program in one compiler: its time, what the compiler made of it, and every raw call if they are in the report.
async function replay(at) {
  const [, study, device, compiler, framework, workload] = at.parts, path = at.parts.slice(2).join("/");
  const same = having(DATA.cells, { mode: "replay", device, compiler, framework, workload });
  const row = same.find((one) => one.study === study);
  if (!row) return [h("h2", {}, `${at.parts.slice(1).join(", ") || "Replay"}`), h("p", {}, "There is no such replay."), h("p", {}, link("The matrix", ["start"]))];
  const ran = !none(row.steady_ms), details = ran && (await rawOf(row, DATA.replays[path]));
  const native = having(DATA.cells, { mode: "native", study, device, framework, workload }).find((one) => one.status !== "not run");
  const facts = Object.entries(DATA.facts).filter(([fact]) => !none(row[fact]));
  return [
    h("h2", {}, `Replay: ${row.title}, ${title(framework)} in ${compiler}`),
    origin(study),
    h("p", {}, ran ? `${number(row.steady_ms, 4)} ms a call, 95 % interval ${interval(row.steady_low_ms, row.steady_high_ms) || "unknown"}, over ${row.rounds} rounds: ` +
      `${number(row.over_best)} times as long as in this program's fastest compiler. ` : `Status: ${row.status}. `, row.run ? `Of the run ${row.run}.` : "Of this run.", valuesText(row)),
    none(row.struck_ms) ? null : h("p", {}, steadyTime(row, 4), " ms a call: the time of a wrong result, which is compared with none."),
    elsewhere(workload, link("every frontend in every compiler", ["cells"], [["study", study], ["mode", "replay"], ["workload", workload]]), native && cellLink("the framework's own cell", native),
      ...same.filter((one) => one.run !== row.run).map((one) => link(`the same in the study ${one.study}${none(one.steady_ms) ? "" : `, ${number(one.steady_ms)} ms`}`, replayParts(one)))),
    ran ? null : preformatted("Reason", row.status_detail || "No reason was recorded."),
    ran ? table("What the compiler took and made", [["What", ([text]) => text], ["Value", ([, value]) => value, "number"]], [
      ["Compile time, s (median over the rounds)", number(row.compile_s)],
      ...facts.map(([fact, said]) => [sentence(said), String(row[fact])]),
    ]) : null,
    ...(details ? everyBlock(details, row, at) : ran ? [h("h3", {}, "Every call"), h("p", {}, "The raw calls of this replay are not in this report.")] : []),
    ...commands(row, `replay/${device}/${compiler}/${workload}`, "replay.json"),
  ];
}

const everyBlock = (details, row, at) => [
  ...everyCall(details.calls, row.framework, at),
  h("p", {}, `Compile time by round, s: ${details.compile_s.map((seconds) => number(seconds)).join(", ")}. Sizes: ${valuesOf(details.sizes)}. ` +
    `Versions: ${valuesOf(details.versions)}. Environment: ${details.environment}.`),
];

const mib = (bytes) => (none(bytes) ? "" : bytes > 0 && bytes < 2 ** 10 ? "< 0.001" : number(bytes / 2 ** 20));

// Programs that were compiled for devices, which need not be here: what they need and whether it fits.
function compiled(at) {
  const every = DATA.compiled;
  if (!every.length) return [h("h2", {}, "Memory of compiled programs"), h("p", {}, "No program was compiled for a target.")];
  const { control, origin: from, rows: own } = studyOf(every, at);
  const keys = ["workload", "framework", "target", "compiler", "variant"], rows = wanted(own, at, ...keys), { shown, pager } = paged(rows, at);
  return [
    h("h2", {}, "Memory of compiled programs"),
    h("div", { class: "bar" }, control, filters(own, at, ...keys)),
    from, h("p", {}, "Who needs more memory, and does it fit: each program as a compiler made it for a device, without running it. Each number is a sum over buffers", DATA.memory.length ? "; the last table has the largest ones at the peak, for the pairs of the study memory. " : "; single buffers are not recorded. ", apart(rows)), noTpuTime(), pager,
    compiledTable(`${rows.length} of ${own.length} compilations`, rows, shown), memoryTable(),
  ];
}

// Why the memory of two frontends' programs differs: the operations that close the difference if the larger program takes the other's form.
const memoryTable = () => (DATA.memory.length ? table("What makes the memory of two programs differ", [
  "Workload", ["Larger", (row) => title(row.subject)], ["Smaller", (row) => title(row.baseline)], "Device", "Compiler", ["Larger, MiB", (row) => mib(row.subject_bytes), "number"],
  ["Smaller, MiB", (row) => mib(row.baseline_bytes), "number"], ["Verdict", verdictOf], ["Where", "places"], ["Share closed", closedShare], ["In the larger program", (row) => beginning(row.subject_operations), "wide"],
  ["In the smaller program", (row) => beginning(row.baseline_operations), "wide"], ["Lines", (row) => beginning(row.lines), "wide"],
  ["Largest buffers at the peak, larger", (row) => peakText(row, row.subject), "wide"], ["Largest buffers at the peak, smaller", (row) => peakText(row, row.baseline), "wide"],
], DATA.memory) : null);

const peakText = (row, framework) => (row.peaks[framework] || []).map((one) => `${mib(one.bytes)} MiB ${one.shape}: ${one.operation}${one.line ? ` (${one.line})` : ""}`).join("; ");

const factor = (value) => (none(value) ? "" : `${number(value)}\u00d7`);

// The bytes of a compiled program over those of the baseline's program of the same size.
function overBaseline(row, column) {
  const { study, workload, target, compiler, variant } = row;
  const [base] = having(DATA.compiled, { framework: DATA.pair.baseline, study, workload, target, compiler, variant });
  return base && row.framework !== base.framework && base[column] && row[column] ? row[column] / base[column] : undefined;
}

// The program of the subject whose memory differs most from the baseline's.
function apart(rows) {
  const over = rows.filter((one) => one.framework === DATA.pair.subject).map((one) => [one, overBaseline(one, "hbm_bytes")]).filter(([, ratio]) => ratio);
  const [[row, ratio] = []] = over.sort(([, a], [, b]) => Math.abs(Math.log(b)) - Math.abs(Math.log(a)));
  return row ? `Furthest apart: ${row.title}, size ${row.variant}, ${row.target}, ${row.compiler}, where ${title(row.framework)} needs ${factor(ratio)} the memory of ${title(DATA.pair.baseline)}.` : "";
}

const noTpuTime = () => (DATA.cells.some((cell) => cell.device === "tpu" && !none(cell.steady_ms)) ? null
  : h("p", {}, h("strong", {}, "No latency was measured on a TPU."), " What stands here about TPUs is compiled, not run; estimated cycles are an estimate of the compiler."));

function compiledTable(caption, rows, shown = rows) {
  const over = (column) => (row) => factor(overBaseline(row, column)), inMib = (column) => (row) => mib(row[column]), base = title(DATA.pair.baseline);
  return table(caption, [
    "Workload", "Frontend", ["Target", "target", "keep"], "Compiler", ["Size", "variant", "keep"], ["Needs, MiB", inMib("hbm_bytes"), "number"], [`over ${base}`, over("hbm_bytes"), "number"], ["Verdict", (row) => row.verdict || row.status],
    ["Temporaries, MiB", inMib("temp_bytes"), "number"], [`temporaries over ${base}`, over("temp_bytes"), "number"], ["Arguments, MiB", inMib("argument_bytes"), "number"], ["Usable, MiB", inMib("usable_bytes"), "number"],
    ["Published", "published_status"], ["Largest batch", "largest_batch", "number"], ["Estimated cycles", "estimated_cycles", "digits"], ["Operations", "operations", "number"], ["Fusions", "fusions", "number"],
    ["Compile, s", "compile_s", "digits"], ["Status", (row) => (row.status === "ok" ? "" : clipped(statusOf(row))), "wide"], "Run",
  ], rows, shown);
}

// Told apart in grey too: from dark to light, and by their names at the end of each line.
const ROUNDS = ["#14213d", "#b3470e", "#0b6e4f", "#7b3294", "#1f78b4", "#8c6d1f"];
const roundColour = (round) => ROUNDS[round % ROUNDS.length];

function everyCall(processes, framework, at) {
  if (!processes.length) return [h("h3", {}, "Every call"), h("p", {}, "The raw calls of this cell are not in this report.")];
  const scale = at.query.get("scale") || "log", names = processes.map((one) => String(one.round + 1));
  const chosen = names.includes(at.query.get("calls")) ? at.query.get("calls") : "", shown = processes.filter((one) => !chosen || String(one.round + 1) === chosen);
  return [
    h("h3", {}, "Every call"),
    h("div", { class: "bar" }, choice("Scale", [["log", "logarithmic"], ["linear", "linear"]], scale, (value) => go(at, { scale: value })),
      choice("Round", [["", "all"], ...names], chosen, (value) => go(at, { calls: value }))),
    legend(shown.map((one) => [dot(roundColour(one.round)), `round ${one.round + 1}`])),
    callsPlot(shown, scale === "log"),
    h("p", {}, "A line is one process: its first call, its second, and its blocks of calls. Filled: an uncontended block; hollow: one that other processes or the host disturbed. A point tells its number when the pointer rests on it."),
  ];
}

// Latency against the number of the call, a line for each process.
function callsPlot(processes, log) {
  const width = wide(860), height = 320, left = 64, bottom = 40, top = 20;
  const series = processes.map((one) => ({ round: one.round, points: [one.first, one.second, ...one.blocks].map((ms, place) =>
    ({ ms, call: place < 2 ? place + 1 : 3 + (place - 2) * one.calls, last: place < 2 ? 0 : 2 + (place - 1) * one.calls,
      uncontended: place < 2 || one.uncontended[place - 2] === "1" })) }));
  const every = series.flatMap((one) => one.points), most = Math.max(...every.map((p) => p.call), 3);
  const values = every.map((p) => p.ms).filter((ms) => ms > 0), low = Math.min(...values), high = Math.max(...values);
  const x = log ? logScale(1, most, left, width - 12) : (call) => left + (width - left - 12) * (call - 1) / (most - 1);
  const y = log ? logScale(low, high, height - bottom, top) : (ms) => height - bottom - (height - bottom - top) * ms / high;
  const plot = drawing(width, height, `Latency against the number of the call, ${processes.length} processes, from ${number(low)} to ${number(high)} ms`);
  plot.append(...levels(log ? ticks(low, high, true) : ticks(0, high), y, left, width - 12));
  for (const call of (log ? ticks(1, most, true) : ticks(1, most)).filter(Number.isInteger)) plot.append(words(x(call), height - bottom + 18, short(call), "middle"));
  plot.append(words(left, height - 4, "number of the call"), words(4, top - 8, "ms a call"));
  for (const { round, points } of series) {
    const ink = roundColour(round);
    plot.append(s("polyline", { points: points.map((p) => `${x(p.call)},${y(p.ms)}`).join(" "), fill: "none", stroke: ink, "stroke-opacity": 0.35 }));
    for (const p of points) {
      const calls = p.last > p.call ? `calls ${p.call} to ${p.last}` : `call ${p.call}`;
      plot.append(s("circle", { cx: x(p.call), cy: y(p.ms), r: 2.6, stroke: ink, fill: p.uncontended ? ink : "#fff" },
        s("title", {}, `Round ${round + 1}, ${calls}: ${number(p.ms, 4)} ms${p.uncontended ? "" : ", disturbed"}`)));
    }
  }
  return plot;
}

// The resident memory of every process of a cell, with the phases of one of them.
function memoryOverTime(processes, framework, at) {
  const head = h("h3", {}, "Memory over time"), sampled = processes.filter((one) => one.memory && one.memory.length);
  if (!sampled.length) return [head, h("p", {}, "Not recorded in this run.")];
  const one = sampled.find((other) => String(other.repetition + 1) === at.query.get("round")) || sampled[0];
  const largest = (from, to) => Math.max(...one.memory.filter(([s]) => s >= from && s <= to).map(([, mib]) => mib));
  const phases = one.phases.map(([name, from, to]) => ({ name, from, to, mib: largest(from, to) }));
  return [
    head,
    sampled.length > 1 ? h("div", { class: "bar" }, choice("Phases of round", sampled.map((other) => String(other.repetition + 1)),
      String(one.repetition + 1), (value) => go(at, { round: value }))) : null,
    memoryPlot(sampled, one, framework),
    h("p", {}, `A line is one process, the thick one that of round ${one.repetition + 1}; its phases are marked. The memory was sampled every tenth of a second. ` +
      "Dashed: the largest that the kernel saw of it, between samples too."),
    phases.length ? table(`Phases of round ${one.repetition + 1}`, [
      ["Phase", "name"], ["from s", "from", "digits"], ["to s", "to", "digits"],
      ["Largest sample, MiB", (phase) => (phase.mib > 0 ? number(phase.mib, 4) : "none taken"), "number"],
    ], phases) : null,
  ];
}

function memoryPlot(processes, one, framework) {
  const width = wide(860), height = 300, left = 64, bottom = 40, top = 40, right = 12, floor = height - bottom;
  const peak = (one.peak_rss_bytes || 0) / 2 ** 20;
  const longest = Math.max(...processes.flatMap((other) => other.memory.map(([s]) => s)), ...one.phases.map(([, , to]) => to)) || 1;
  const most = Math.max(peak, ...processes.flatMap((other) => other.memory.map(([, mib]) => mib)));
  const [unit, scale] = most >= 1024 ? ["GiB", 1024] : ["MiB", 1];
  const x = (s) => left + (width - left - right) * s / longest, y = (mib) => floor - (floor - top) * mib / most, scaled = (value) => y(value * scale);
  const plot = drawing(width, height, `Resident memory over ${number(longest)} s of ${processes.length} processes; ` +
    `of round ${one.repetition + 1} at most ${number(peak / scale)} ${unit}`);
  // In two rows by turns, so that a name may reach over the next phase; one too long for both is in the table alone.
  one.phases.forEach(([name, from, to], place) => {
    plot.append(s("rect", { x: x(from), y: top, width: Math.max(0.5, x(to) - x(from)), height: floor - top, fill: place % 2 ? "#e4edf5" : "#f5eddc" },
      s("title", {}, `${name}: ${number(from)} to ${number(to)} s`)));
    const free = one.phases[place + 2] ? x(one.phases[place + 2][1]) : width;
    if (free - x(from) > 7 * name.length) plot.append(words(x(from), top - (place % 2 ? 6 : 20), name));
  });
  plot.append(...levels(ticks(0, most / scale, false, 5), scaled, left, width - right));
  for (const tick of ticks(0, longest)) plot.append(words(x(tick), floor + 18, short(tick), "middle"));
  plot.append(words(left, height - 4, "s since its start"), words(4, top - 6, unit));
  plot.append(s("line", { x1: left, x2: width - right, y1: y(peak), y2: y(peak), stroke: "#333", "stroke-dasharray": "4 3" }));
  for (const other of [...processes.filter((process) => process !== one), one]) {
    plot.append(s("polyline", { points: other.memory.map(([seconds, mib]) => `${x(seconds)},${y(mib)}`).join(" "), fill: "none", stroke: colour(framework),
      "stroke-opacity": other === one ? 1 : 0.35, "stroke-width": other === one ? 2 : 1 }));
  }
  return plot;
}

// The end of each process's log; open if the process did not end well.
function logs(processes) {
  const said = processes.filter((one) => (one.log || "").trim());
  return [h("h3", {}, "Logs"), said.length ? h("p", {}, "The last lines of each that is not empty, at most 20.") : h("p", {}, "Nothing was logged, or no log was recorded."),
    ...said.map((one) => h("details", { open: one.status === "ok" ? null : "" }, h("summary", {}, `Round ${one.repetition + 1}: ${one.status}`), preformatted(`Log of round ${one.repetition + 1}`, one.log)))];
}
