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
      choice("mode", modes.map((name) => [name, name]), mode, (value) => go(at, { mode: value })),
      filters(all, at, "workload", "framework", "device", "compiler", "size"),
      choice("status", [...Object.entries(STATUS), ...unique(all.map((cell) => cell.status)).map((one) => [one, one])], status, (value) => go(at, { status: value })), searchBox(at)),
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
    h("pre", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Commands" }, `${again ? `rm -r ${folder}/${path}\n` : ""}.venv/bin/snakemake --cores 1 ${option}${folder}/${path}/${file}`),
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
  const same = DATA.cells.filter((one) => one.mode === "replay" && one.device === device && one.compiler === compiler && one.framework === framework && one.workload === workload);
  const row = same.find((one) => one.study === study);
  if (!row) return [h("h2", {}, `${at.parts.slice(1).join(", ") || "Replay"}`), h("p", {}, "There is no such replay."), h("p", {}, link("The matrix", ["start"]))];
  const ran = !none(row.steady_ms), details = ran && (await rawOf(row, DATA.replays[path]));
  const native = DATA.cells.find((one) => one.mode === "native" && one.study === study && cellKey(one) === `${device}/${framework}/${workload}` && one.status !== "not run");
  const facts = Object.entries(DATA.facts).filter(([fact]) => !none(row[fact]));
  return [
    h("h2", {}, `Replay: ${row.title}, ${title(framework)} in ${compiler}`),
    origin(study),
    h("p", {}, ran ? `${number(row.steady_ms, 4)} ms a call, 95 % interval ${interval(row.steady_low_ms, row.steady_high_ms) || "unknown"}, over ${row.rounds} rounds: ` +
      `${number(row.over_best)} times as long as in this program's fastest compiler. ` : `Status: ${row.status}. `, row.run ? `Of the run ${row.run}.` : "Of this run.", valuesText(row)),
    none(row.struck_ms) ? null : h("p", {}, steadyTime(row, 4), " ms a call: the time of a wrong result, which is compared with none."),
    elsewhere(workload, link("every frontend in every compiler", ["cells"], [["study", study], ["mode", "replay"], ["workload", workload]]), native && cellLink("the framework's own cell", native),
      ...same.filter((one) => one.run !== row.run).map((one) => link(`the same in the study ${one.study}${none(one.steady_ms) ? "" : `, ${number(one.steady_ms)} ms`}`, replayParts(one)))),
    ran ? null : h("pre", { class: "scroll log", tabindex: "0", role: "region", "aria-label": "Reason" }, row.status_detail || "No reason was recorded."),
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
  const base = DATA.compiled.find((one) => one.framework === DATA.pair.baseline && ["study", "workload", "target", "compiler", "variant"].every((key) => one[key] === row[key]));
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
