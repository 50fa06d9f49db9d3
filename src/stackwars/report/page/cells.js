const STATUS = { "": "all that were run", any: "all" };

function cells(at) {
  const { study, control, origin: from, rows: own } = studyOf(DATA.cells, at);
  const modes = unique(own.map((cell) => cell.mode)), mode = oneOf(at, "mode", modes), all = own.filter((cell) => cell.mode === mode);
  const status = at.query.get("status") || "", ofStatus = (cell) => (status ? status === "any" || cell.status === status : cell.status !== "not run");
  const rows = wanted(all, at, "workload", "framework", "device", "compiler", "size").filter(ofStatus);
  const { shown, pager } = paged(rows, at);
  return [
    h("h2", {}, "Cells"),
    h("div", { class: "bar" }, control,
      choice("mode", modes.map((name) => [name, name]), mode, (value) => go(at, { mode: value })),
      filters(all, at, "workload", "framework", "device", "compiler", "size"),
      choice("status", [...Object.entries(STATUS), ...unique(all.map((cell) => cell.status)).map((one) => [one, one])], status, (value) => go(at, { status: value }))),
    from, pager,
    table(`${rows.length} of ${all.length} cells; ms, with 95 % intervals over the rounds`, filled([
      ["Workload", (cell) => (mode === "replay" ? link(cell.title, replayParts(cell)) : mode === "native" ? cellLink(cell.title, cell) : cell.title)],
      ["Framework", (cell) => title(cell.framework)], ["Device", (cell) => cell.device], ["Compiler", (cell) => cell.compiler, "keep"],
      ["Size", (cell) => (cell.size ? `${cell.size} ${cell.value}` : ""), "keep"], ["Call", (cell) => cell.pass], ["Status", (cell) => clipped(statusOf(cell))],
      ...Object.entries(STAGES).flatMap(([stage, head]) => [
        [head, (cell) => number(cell[`${stage}_ms`]), "number"],
        ["interval", (cell) => interval(cell[`${stage}_low_ms`], cell[`${stage}_high_ms`]), "keep"],
      ]),
      ["Peak GiB", (cell) => (cell.peak_rss_bytes ? number(cell.peak_rss_bytes / 2 ** 30) : ""), "number"],
      ["Over its fastest compiler", (cell) => number(cell.over_best), "number"], ["Compile s", (cell) => number(cell.compile_s), "number"],
      ["What a call did", (cell) => cell.shape], ["Collectives", (cell) => (cell.collectives ? collectives(JSON.parse(cell.collectives)) : "")],
      ["Run", (cell) => cell.run, "keep"],
    ], rows), rows, shown),
  ];
}

const collectives = (kinds) => Object.entries(kinds).filter(([, count]) => count).map(([kind, count]) => `${kind.replaceAll("_", " ")} ${count}`).join(", ") || "none";
const valuesOf = (values) => Object.entries(values).map(([name, value]) => `${name} ${value}`).join(", ");

// Raw calls are in the report for the rows of one run alone.
const rawOf = (row, packed) => ((row.run || "") === DATA.raw_run && packed ? unpack(packed) : null);

// Links to the other views that show a workload.
const elsewhere = (workload, ...more) => h("p", {}, "Also: ", listOf([...more.filter(Boolean), link("comparisons", ["comparisons"], [["workload", workload]]),
  ...["programs", "timeline"].filter((view) => hasView(view, workload)).map((view) => link(view, [view, workload]))]), ".");

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
  const found = DATA.cells.find((one) => one.mode === "native" && one.study === study && cellKey(one) === path);
  if (!found) return [h("h2", {}, path || "Cell"), h("p", {}, "There is no such cell; its program may have been replayed alone."), h("p", {}, link("All cells", ["cells"]))];
  const details = (await rawOf(found, DATA.details[path])) || { calls: [], processes: [] };
  const parted = ["trace", "compile", "execute"].map((part) => [part, found[`first_${part}_ms`]]).filter(([, ms]) => !none(ms));
  const others = DATA.cells.filter((one) => one !== found && one.mode === "native" && cellKey(one) === path && one.run !== found.run);
  return [
    h("h2", {}, `${found.title}, ${title(found.framework)}, ${found.device}`),
    origin(study),
    h("p", {}, `Status: ${statusOf(found)}. ${found.rounds || 0} rounds${found.stop_reason ? `, ended by: ${found.stop_reason}` : ""}${found.run ? `, in the run ${found.run}` : ""}.` +
      (none(found.kept_share) ? "" : ` ${percent(found.kept_share)} of its blocks were uncontended; most processes were ${found.steady_class || "of no class"}.`)),
    elsewhere(found.workload, ...others.map((one) => cellLink(`the same in the study ${one.study}`, one))),
    found.status === "ok" ? table("Latency in ms", [
      ["Stage", ([, text]) => text], ["ms", ([stage]) => number(found[`${stage}_ms`], 4), "number"],
      ["95 % interval", ([stage]) => interval(found[`${stage}_low_ms`], found[`${stage}_high_ms`])],
    ], Object.entries(STAGES)) : null,
    parted.length ? table("The first call, in ms", [["Part", ([part]) => part], ["ms", ([, ms]) => number(ms), "number"]], parted) : null,
    ...everyCall(details.calls, found.framework, at),
    ...(details.processes.length ? [
      ...memoryOverTime(details.processes, found.framework, at),
      table("Processes", [
        ["Round", (one) => String(one.repetition + 1), "number"], ["Status", (one) => one.status], ["Started (UTC)", (one) => one.started_utc],
        ["Wall s", (one) => number(one.wall_s), "number"], ["Peak GiB", (one) => number(one.peak_rss_bytes / 2 ** 30), "number"],
        ["Environment", (one) => one.environment],
      ], details.processes),
      ...logs(details.processes),
      h("p", {}, `Sizes: ${valuesOf(details.sizes)}. Versions: ${valuesOf(details.versions)}.`)] : []),
    ...commands(found, path, "cell.json"),
  ];
}
