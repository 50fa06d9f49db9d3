const OTHER = new Map((DATA.other ? DATA.other.ratios : []).map((row) => [cellKey(row), row]));

function comparisons(at) {
  const stage = STAGES[at.query.get("stage")] ? at.query.get("stage") : "steady";
  const effect = (row) => Math.abs(Math.log(row[`${stage}_ratio`]));
  let rows = DATA.ratios.filter((row) => !none(row[`${stage}_ratio`])).filter(wanted(at, "workload", "framework", "device"));
  if (at.query.get("sort") === "effect") rows = [...rows].sort((a, b) => effect(b) - effect(a));
  const titles = Object.fromEntries(DATA.ratios.map((row) => [row.workload, row.title]));
  const { shown, pager } = paged(rows, at, 100);
  const there = (row) => OTHER.get(cellKey(row)) || {};
  return [
    h("h2", {}, "Comparisons"),
    h("div", { class: "bar" },
      choice("Stage", Object.entries(STAGES), stage, (value) => go(at, { stage: value })),
      filtered(at, "workload", DATA.ratios.map((row) => row.workload), (name) => titles[name]),
      filtered(at, "framework", DATA.ratios.map((row) => row.framework), title),
      filtered(at, "device", DATA.ratios.map((row) => row.device)),
      choice("Sort by", [["", "workload"], ["effect", "effect"]], at.query.get("sort") || "", (value) => go(at, { sort: value }))),
    DATA.other ? h("p", {}, `Filled circles: this run, ${DATA.name}. Hollow diamonds: ${DATA.other.name}. ${DATA.other.summary}`) : null,
    pager,
    shown.length ? forest(shown, stage) : h("p", {}, "Nothing was compared."),
    table(`${STAGES[stage]}: time of the framework over its baseline's, with 95 % intervals`, [
      ["Workload", (row) => cellLink(row.title, row)], ["Framework", (row) => title(row.framework)],
      ["Baseline", (row) => cellLink(title(row.baseline), { ...row, framework: row.baseline })], ["Device", (row) => row.device],
      ["Ratio", (row) => number(row[`${stage}_ratio`]), "number"],
      ["95 % interval", (row) => interval(row[`${stage}_ratio_low`], row[`${stage}_ratio_high`])],
      ["Verdict", (row) => row[`${stage}_verdict`]], ["Rounds", (row) => String(row.rounds), "number"],
      ...(DATA.other ? [
        ["Other run", (row) => number(there(row)[`${stage}_ratio`]), "number"],
        ["its interval", (row) => interval(there(row)[`${stage}_ratio_low`], there(row)[`${stage}_ratio_high`])],
        ["its verdict", (row) => there(row)[`${stage}_verdict`]],
      ] : []),
    ], rows, shown),
  ];
}
