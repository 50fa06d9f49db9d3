function cells(at) {
  const status = at.query.get("status") || "";
  const ofStatus = { "": (cell) => cell.status !== "not run", any: () => true }[status] || ((cell) => cell.status === status);
  const rows = DATA.cells.filter(wanted(at, "workload", "framework", "device")).filter(ofStatus);
  const titles = Object.fromEntries(DATA.cells.map((cell) => [cell.workload, cell.title]));
  const { shown, pager } = paged(rows, at);
  return [
    h("h2", {}, "Cells"),
    h("div", { class: "bar" },
      filtered(at, "workload", DATA.cells.map((cell) => cell.workload), (name) => titles[name]),
      filtered(at, "framework", DATA.cells.map((cell) => cell.framework), title),
      filtered(at, "device", DATA.cells.map((cell) => cell.device)),
      choice("status", [["", "all that were run"], ["any", "all"], ...unique(DATA.cells.map((cell) => cell.status)).map((one) => [one, one])], status,
        (value) => go(at, { status: value }))),
    pager,
    table(`${rows.length} of ${DATA.cells.length} cells; ms, with 95 % intervals over the rounds`, [
      ["Workload", (cell) => cellLink(cell.title, cell)],
      ["Framework", (cell) => title(cell.framework)], ["Device", (cell) => cell.device], ["Status", (cell) => cell.status],
      ...Object.entries(STAGES).flatMap(([stage, head]) => [
        [head, (cell) => number(cell[`${stage}_ms`]), "number"],
        ["interval", (cell) => interval(cell[`${stage}_low_ms`], cell[`${stage}_high_ms`]), "keep"],
      ]),
      ["Peak GiB", (cell) => (cell.peak_rss_bytes ? number(cell.peak_rss_bytes / 2 ** 30) : ""), "number"],
    ], rows, shown),
  ];
}

const listed = (values) => Object.entries(values).map(([name, value]) => `${name} ${value}`).join(", ");

async function cell(at) {
  const key = at.parts.slice(1).join("/");
  const found = DATA.cells.find((one) => cellKey(one) === key);
  if (!found) return [h("h2", {}, key), h("p", {}, "This run has no such cell; its program may have been replayed alone."), h("p", {}, link("All cells", ["cells"]))];
  const packed = DATA.details[key];
  const details = packed ? await unpack(packed) : { calls: [], processes: [], sizes: {}, versions: {} };
  const parted = ["trace", "compile", "execute"].map((part) => [part, found[`first_${part}_ms`]]).filter(([, ms]) => !none(ms));
  return [
    h("h2", {}, `${found.title}, ${title(found.framework)}, ${found.device}`),
    h("p", {}, `Status: ${statusOf(found)}. ${found.rounds || 0} rounds` + (found.stop_reason ? `, ended by: ${found.stop_reason}.` : ".")),
    table("Latency in ms", [
      ["Stage", ([, text]) => text], ["ms", ([stage]) => number(found[`${stage}_ms`], 4), "number"],
      ["95 % interval", ([stage]) => interval(found[`${stage}_low_ms`], found[`${stage}_high_ms`])],
    ], Object.entries(STAGES)),
    parted.length ? table("The first call, in ms", [["Part", ([part]) => part], ["ms", ([, ms]) => number(ms), "number"]], parted) : null,
    ...everyCall(details.calls, found.framework, at),
    ...memoryOverTime(details.processes, found.framework, at),
    details.processes.length ? table("Processes", [
      ["Round", (one) => String(one.repetition + 1), "number"], ["Status", (one) => one.status], ["Started (UTC)", (one) => one.started_utc],
      ["Wall s", (one) => number(one.wall_s), "number"], ["Peak GiB", (one) => number(one.peak_rss_bytes / 2 ** 30), "number"],
      ["Environment", (one) => one.environment],
    ], details.processes) : null,
    ...logs(details.processes),
    details.processes.length ? h("p", {}, `Sizes: ${listed(details.sizes)}. Versions: ${listed(details.versions)}.`) : null,
    h("h3", {}, "Measured again"),
    h("pre", {}, `rm -r results/${DATA.meta.preset}/${key}\n.venv/bin/snakemake --cores all results/${DATA.meta.preset}/${key}/cell.json`),
  ];
}
