const REPLAY_COLUMNS = [
  ["Workload", (row) => row.title], ["Frontend", (row) => title(row.framework)], ["Compiler", (row) => row.compiler], ["Status", (row) => row.status],
  ["ms", (row) => number(row.replay_ms, 4), "number"], ["95 % interval", (row) => interval(row.replay_low_ms, row.replay_high_ms), "keep"],
  ["Over its fastest compiler", (row) => number(row.over_best), "number"], ["Compile s", (row) => number(row.compile_s), "number"],
  ["Rounds", (row) => String(row.rounds ?? ""), "number"], ["Run", (row) => row.run || "this one", "keep"],
];

// One frontend's program in one compiler: what the matrix has of it, and every raw call where this run has timed it.
async function replay(at) {
  const [, device, compiler, framework, workload] = at.parts;
  const row = DATA.matrix.find((one) => one.device === device && one.compiler === compiler && one.framework === framework && one.workload === workload);
  if (!row) return [h("h2", {}, `${at.parts.slice(1).join(", ") || "Replay"}`), h("p", {}, "The matrix has no such program."), h("p", {}, link("The matrix", ["start"]))];
  const packed = DATA.replays[at.parts.slice(1).join("/")], ran = !none(row.replay_ms);
  const details = packed ? await unpack(packed) : null;
  const same = DATA.matrix.filter((one) => one.workload === workload && one.device === device);
  const name = (one) => [one.framework, one.compiler];
  const native = DATA.cells.find((one) => cellKey(one) === `${device}/${framework}/${workload}`);
  const facts = Object.entries(DATA.facts).filter(([fact]) => !none(row[fact]));
  return [
    h("h2", {}, `Replay: ${row.title}, ${title(framework)} in ${compiler}`),
    h("p", {}, ran ? `${number(row.replay_ms, 4)} ms a call, 95 % interval ${interval(row.replay_low_ms, row.replay_high_ms) || "unknown"}, over ${row.rounds} rounds: ` +
      `${number(row.over_best)} times as long as in this program's fastest compiler. ` : `Status: ${row.status}. `,
      row.run ? `This is of the accepted run ${row.run}, measured as a run of its own.` : "This was measured in this run."),
    ran ? null : h("pre", { class: "scroll log", tabindex: "0", role: "region", "aria-label": "Reason" }, row.status_detail || "No reason was kept."),
    ran ? table("What the compiler took and made", [["What", ([text]) => text], ["Value", ([, value]) => value, "number"]], [
      ["Compile time, s (median over the rounds)", number(row.compile_s)],
      ["Largest relative L2 error against the baseline's output", number(row.parity_rel_l2)],
      ...(none(row.previous_ratio) ? [] : [[`Time over that in ${row.previous}`, `${number(row.previous_ratio)} ${interval(row.previous_low, row.previous_high)}, ${row.previous_verdict}`]]),
      ...facts.map(([fact, said]) => [`${said[0].toUpperCase()}${said.slice(1)}`, String(row[fact])]),
    ]) : null,
    ...(details ? everyBlock(details, row, at) : ran ? [h("h3", {}, "Every call"), h("p", {}, "The raw calls of this replay are not in this report.")] : []),
    table(`${row.title}: every frontend in every compiler`, REPLAY_COLUMNS.map(([head, show, kind], place) =>
      [head, place ? show : (one) => link(one.title, ["replay", one.device, one.compiler, one.framework, one.workload]), kind]), same),
    h("p", {}, ...[native && native.status !== "not run" ? cellLink("The framework's own cell", native) : null,
      DATA.programs.some((one) => one.workload === workload) ? link("Its program beside others", ["programs", workload]) : null,
      DATA.timeline.calls.some((one) => one.workload === workload) ? link("Where a call's time goes", ["timeline", workload], [["compiler", compiler]]) : null,
      link("The matrix", ["start"], [["workload", workload]])].filter(Boolean).flatMap((one, place) => [place ? ", " : "", one])),
  ];
}

function everyBlock(details, row, at) {
  return [
    row.run ? h("p", {}, "The calls below are of another replay of the same program, in the run that this report is of: the accepted run has kept its numbers alone.") : null,
    ...everyCall(details.calls, row.framework, at),
    table("By round", [
      ["Round", ([one]) => String(one.round + 1), "number"], ["Compile s", ([, seconds]) => number(seconds), "number"],
      ["First call, ms", ([one]) => number(one.first), "number"], ["Second call, ms", ([one]) => number(one.second), "number"],
      ["Blocks", ([one]) => String(one.blocks.length), "number"], ["of these uncontended", ([one]) => String(one.kept.split("1").length - 1), "number"],
    ], details.calls.map((one, place) => [one, details.compile_s[place]])),
    h("p", {}, `Sizes: ${listed(details.sizes)}. Versions: ${listed(details.versions)}. Environment: ${details.environment}.`),
    h("h3", {}, "Measured again"),
    h("pre", {}, `rm -r results/${DATA.meta.preset}/replay/${row.device}/${row.compiler}/${row.workload}\n` +
      `.venv/bin/snakemake --cores all results/${DATA.meta.preset}/replay/${row.device}/${row.compiler}/${row.workload}/replay.json`),
  ];
}
