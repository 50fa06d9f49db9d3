const OTHER = new Map((DATA.other ? DATA.other.ratios : []).map((row) => [cellKey(row), row]));
const COMPILERS = unique(DATA.split.map((row) => row.compiler));
const IN_COMPILER = { "": "in its own framework", ...Object.fromEntries(COMPILERS.map((name) => [name, `of the program, in ${name}`])) };

async function comparisons(at) {
  const compiler = COMPILERS.includes(at.query.get("compiler")) ? at.query.get("compiler") : "";
  const stage = compiler ? "ir" : STAGES[at.query.get("stage")] ? at.query.get("stage") : "steady";
  const all = compiler ? DATA.split.filter((row) => row.compiler === compiler) : DATA.ratios;
  const effect = (row) => Math.abs(Math.log(row[`${stage}_ratio`]));
  let rows = all.filter((row) => !none(row[`${stage}_ratio`])).filter(wanted(at, "workload", "framework", "device"));
  if (at.query.get("sort") === "effect") rows = [...rows].sort((a, b) => effect(b) - effect(a));
  const titles = Object.fromEntries([...DATA.ratios, ...DATA.split].map((row) => [row.workload, row.title]));
  const { shown, pager } = paged(rows, at, 100);
  const single = at.query.get("rounds") === "shown" ? await unpack(DATA.rounds) : null;
  return [
    h("h2", {}, "Comparisons"),
    h("div", { class: "bar" },
      choice("Compiler", Object.entries(IN_COMPILER), compiler, (value) => go(at, { compiler: value })),
      compiler ? null : choice("Stage", Object.entries(STAGES), stage, (value) => go(at, { stage: value })),
      filtered(at, "workload", all.map((row) => row.workload), (name) => titles[name]),
      filtered(at, "framework", all.map((row) => row.framework), title),
      filtered(at, "device", all.map((row) => row.device)),
      choice("Sort by", [["", "workload"], ["effect", "effect"]], at.query.get("sort") || "", (value) => go(at, { sort: value })),
      choice("Ratio of each round", [["", "hidden"], ["shown", "shown"]], at.query.get("rounds") || "", (value) => go(at, { rounds: value }))),
    compiler ? h("p", {}, `The IR effect: the framework's program over its baseline's, both replayed by ${compiler} in one process with interleaved blocks.`) : null,
    DATA.other && !compiler ? h("p", {}, `Filled circles: this run, ${DATA.name}. Hollow diamonds: ${DATA.other.name}. ${DATA.other.summary}`) : null,
    single ? h("p", {}, "Small circles, and the last column: the ratio of each round here" +
      (rows.some((row) => row[`${stage}_runs`] > 1) ? "; the ratio itself is over several runs, whose other rounds are not in this report." : ".")) : null,
    pager,
    shown.length ? forest(shown, stage, compiler, single) : h("p", {}, "Nothing was compared."),
    compiler ? ofPrograms(rows, shown, compiler, single) : ofCells(rows, shown, stage, single),
  ];
}

const roundsOf = (row, stage, single) => ((single && single[[cellKey(row), ...(stage === "ir" ? [row.compiler] : [])].join("/")]) || {})[stage] || [];

const roundsColumn = (stage, single) => (single ? [["Of each round",
  (row) => roundsOf(row, stage, single).map(([round, ratio]) => `${round + 1}: ${number(ratio)}`).join("; ") || "not in this report"]] : []);

const ratioColumns = (stage) => [
  ["Ratio", (row) => number(row[`${stage}_ratio`]), "number"],
  ["95 % interval", (row) => interval(row[`${stage}_ratio_low`], row[`${stage}_ratio_high`]), "keep"],
];

function ofCells(rows, shown, stage, single) {
  const there = (row) => OTHER.get(cellKey(row)) || {};
  const marks = (row) => [stage === "steady" && row.steady_gated === false ? "not gated" : "", stage === "steady" && row.contended ? "contended" : ""].filter(Boolean).join(", ");
  return h("div", {}, table(`${STAGES[stage]}: time of the framework over its baseline's, with 95 % intervals`, [
    ["Workload", (row) => cellLink(row.title, row)], ["Framework", (row) => title(row.framework)],
    ["Baseline", (row) => cellLink(title(row.baseline), { ...row, framework: row.baseline })], ["Device", (row) => row.device],
    ...ratioColumns(stage),
    ["Verdict", (row) => row[`${stage}_verdict`]], ["p, corrected", (row) => number(row[`${stage}_p_holm`], 2), "number"],
    ["Detectable", (row) => (none(row[`${stage}_detectable`]) ? "" : percent(row[`${stage}_detectable`])), "number"],
    ["Rounds here", (row) => String((stage === "steady" && row.steady_rounds) || row.rounds), "number"], ["Runs", (row) => String(row[`${stage}_runs`] ?? ""), "number"],
    ["Marks", marks],
    ...(DATA.other ? [
      ["Other run", (row) => number(there(row)[`${stage}_ratio`]), "number"],
      ["its interval", (row) => interval(there(row)[`${stage}_ratio_low`], there(row)[`${stage}_ratio_high`]), "keep"],
      ["its verdict", (row) => there(row)[`${stage}_verdict`]],
    ] : []),
    ...roundsColumn(stage, single),
  ], rows, shown),
  h("p", {}, "p, corrected: of no difference, after Holm's correction. Detectable: the smallest difference that could have been found, with a power of 80 %. " +
    "Contended: one of the two kept far more of its blocks undisturbed than the other. Not gated: too few blocks were undisturbed, so all of them count."));
}

const ofPrograms = (rows, shown, compiler, single) => h("div", {}, table(`Replays in ${compiler}: time of the framework's program over its baseline's, with 95 % intervals`, [
  ["Workload", (row) => link(row.title, ["replay", row.device, compiler, row.framework, row.workload])], ["Framework", (row) => title(row.framework)],
  ["Baseline", (row) => link(title(row.baseline), ["replay", row.device, compiler, row.baseline, row.workload])], ["Device", (row) => row.device],
  ...ratioColumns("ir"), ["Verdict", (row) => row.ir_verdict], ["Rounds here", (row) => String(row.rounds), "number"], ["Runs", (row) => String(row.ir_runs ?? ""), "number"],
  ...(compiler === DATA.native ? [["Runtime effect", (row) => number(row.runtime_ratio), "number"],
    ["its interval", (row) => interval(row.runtime_ratio_low, row.runtime_ratio_high), "keep"], ["What does more", (row) => row.source_verdict]] : []),
  ...roundsColumn("ir", single),
], rows, shown),
h("p", {}, "The verdict is by the interval alone: these ratios have no p. Native ratio = IR effect × runtime effect; the latter is known in the frameworks' own generation of XLA alone."));
