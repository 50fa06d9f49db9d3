const KEYS = ["quantity", "workload", "device", "compiler", "baseline_compiler", "variant", "subject", "baseline", "baseline_workload"];
const keyOf = (row) => KEYS.map((name) => row[name] || "").join("/");

async function comparisons(at) {
  const every = DATA.comparisons.flatMap((row) => row.studies.map((study) => ({ ...row, study })));
  if (!every.length) return [h("h2", {}, "Comparisons"), h("p", {}, "Nothing was compared.")];
  const { study, control, origin: from, rows: own } = studyOf(every, at), quantities = Object.keys(DATA.quantities).filter((name) => own.some((row) => row.quantity === name));
  const quantity = oneOf(at, "quantity", [quantities.includes("steady") ? "steady" : quantities[0], ...quantities]);
  const all = own.filter((row) => row.quantity === quantity), keys = ["compiler", "variant", "workload", "subject", "baseline", "device", "verdict"];
  let rows = wanted(all, at, ...keys);
  const effect = (row) => Math.abs(Math.log(row.ratio || 1));
  if (at.query.get("sort") === "effect") rows = [...rows].sort((a, b) => effect(b) - effect(a));
  const { shown, pager } = paged(rows, at, 100), single = at.query.get("rounds") === "shown";
  const others = DATA.other ? new Map((await unpack(DATA.other.comparisons)).map((row) => [keyOf(row), row])) : null;
  return [
    h("h2", {}, "Comparisons"),
    h("div", { class: "bar" }, control, choice("quantity", quantities.map((name) => [name, name.replaceAll("_", " ")]), quantity, (value) => go(at, { quantity: value })),
      filters(all, at, ...keys),
      choice("sort by", [["", "workload"], ["effect", "effect"]], at.query.get("sort") || "", (value) => go(at, { sort: value })),
      all.some((row) => row.each.length) ? choice("ratio of each round", [["", "hidden"], ["shown", "shown"]], at.query.get("rounds") || "", (value) => go(at, { rounds: value })) : null),
    from, h("p", {}, `${sentence(DATA.quantities[quantity])}.`),
    others ? h("p", {}, `Circles: ${DATA.name}. Diamonds: ${DATA.other.name}. ${DATA.other.summary}`) : null,
    pager,
    forest(shown.filter((row) => !none(row.ratio)), { single, others }),
    comparisonTable(rows, shown, single, others),
    all.some((row) => !none(row.confidence)) ? h("p", {}, "The interval decides. All intervals of a quantity on a device have one level, so that of those that decide 5 % may miss the true ratio. " +
      "Detectable: the smallest difference that could have been found, with a power of 80 %. Contended: one of the two kept far more of its blocks undisturbed than the other.") : null,
  ];
}

function comparisonTable(rows, shown, single, others) {
  const otherRow = (row) => (others && others.get(keyOf(row))) || {}, onEach = ({ kinds }) => kinds.map((one) => `${one.machine}: ${number(one.ratio)} ${interval(one.low, one.high)}`).join("; ");
  return table(`${rows.length} comparisons; ratios are of the subject over the baseline, with intervals at the level given`, [
    "Workload", ["Over", "baseline_workload"], ["Subject", (row) => sideLink(row, row.subject, row.compiler)], ["Baseline", (row) => sideLink(row, row.baseline, row.baseline_compiler || row.compiler)],
    "Device", "Compiler", ["Baseline's compiler", "baseline_compiler", "keep"], ["Variant", "variant"], "Ratio", "Interval", ["On each kind of machine", (row) => (row.kinds.length > 1 ? onEach(row) : ""), "wide"],
    "Verdict", ["Level", (row) => (none(row.confidence) ? "" : `${(100 * row.confidence).toFixed(1)} %`), "number"], ["About", "detail"], ["Steady ratio", "native_verdict"],
    ["Detectable", (row) => (none(row.detectable) ? "" : percent(row.detectable)), "number"], ["Published", "published_ratio", "digits"], ["Marks", (row) => (row.contended ? "contended" : "")],
    ["Rounds", "rounds", "number"], ["Runs", "runs", "number"], ["Machine", "machine", "wide"], "Prediction interval", "Run", ["Other run", (row) => number(otherRow(row).ratio), "number"],
    ["its interval", (row) => interval(otherRow(row).low, otherRow(row).high), "keep"], ["its verdict", (row) => otherRow(row).verdict], ["Of each round", (row) => (single ? eachRound(row.each) : ""), "wide"],
  ], rows, shown);
}

// The link to what measured a side of a comparison: a replay, a cell, or its program alone.
function sideLink(row, framework, compiler) {
  const { study, device, workload } = row;
  const target = DATA.cells.find((one) => one.study === study && one.device === device && one.framework === framework && one.workload === workload &&
    (compiler ? one.mode === "replay" && one.compiler === compiler : one.mode === "native"));
  if (target) return compiler ? link(title(framework), replayParts(target)) : cellLink(title(framework), target);
  return hasView("programs", workload) ? link(title(framework), ["programs", workload]) : title(framework);
}

// The ratios by run: "2026-01-02T0304: 1.45, 1.55; ...".
const eachRound = (each) => unique(each.map(([run]) => run)).map((run) =>
  `${run ? `${run}: ` : ""}${each.filter(([of]) => of === run).map(([, , ratio]) => number(ratio)).join(", ")}`).join("; ");
