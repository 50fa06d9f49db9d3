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
      `${number(row.over_best)} times as long as in this program's fastest compiler. ` : `Status: ${row.status}. `, row.run ? `Of the run ${row.run}.` : "Of this run."),
    elsewhere(workload, link("every frontend in every compiler", ["cells"], [["study", study], ["mode", "replay"], ["workload", workload]]), native && cellLink("the framework's own cell", native),
      ...same.filter((one) => one.run !== row.run).map((one) => link(`the same in the study ${one.study}${none(one.steady_ms) ? "" : `, ${number(one.steady_ms)} ms`}`, replayParts(one)))),
    ran ? null : h("pre", { class: "scroll log", tabindex: "0", role: "region", "aria-label": "Reason" }, row.status_detail || "No reason was kept."),
    ran ? table("What the compiler took and made", [["What", ([text]) => text], ["Value", ([, value]) => value, "number"]], [
      ["Compile time, s (median over the rounds)", number(row.compile_s)],
      ["Largest relative L2 error against the baseline's output", number(row.parity_rel_l2)],
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
