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
  const [target] = having(DATA.cells, { study, device, framework, workload, ...(compiler ? { mode: "replay", compiler } : { mode: "native" }) });
  if (target) return compiler ? link(title(framework), replayParts(target)) : cellLink(title(framework), target);
  return hasView("programs", workload) ? link(title(framework), ["programs", workload]) : title(framework);
}

// The ratios by run: "2026-01-02T0304: 1.45, 1.55; ...".
const eachRound = (each) => unique(each.map(([run]) => run)).map((run) =>
  `${run ? `${run}: ` : ""}${each.filter(([of]) => of === run).map(([, , ratio]) => number(ratio)).join(", ")}`).join("; ");

// The gaps between two programs in one compiler: the cause of each, or what was tried.
function causes(at) {
  const found = DATA.causes;
  if (!found.length) return [h("h2", {}, "Causes"), h("p", {}, "No two programs differ by more than the bound in one compiler.")];
  const keys = ["verdict", "workload", "compiler", "subject"], every = found.map((row) => ({ ...row, verdict: row.verdict || "not searched" }));
  const rows = wanted(every, at, ...keys);
  return [
    h("h2", {}, "Causes"),
    h("div", { class: "bar" }, filters(every, at, ...keys)),
    h("p", {}, "Replayed programs that differ by more than the bound with their whole interval. A cause is the smallest set of operations or layouts that closes at least 80 % of " +
      "the gap when the slower program takes it from the faster one. Not searched: no run has searched it."),
    causeTable(`${rows.length} of ${every.length} gaps`, rows),
  ];
}

// The verdict of a search of a cause.
const verdictOf = (row) => (row.verdict === "cause" ? "cause found" : row.verdict || "not searched");
const shareText = (share, low, high) => (none(share) ? "" : `${percent(share)}${none(low) ? "" : ` [${percent(low)}, ${percent(high)}]`}`);
const closedShare = (row) => shareText(row.closed, row.closed_low, row.closed_high);

// A long text, of which only the beginning is open; the two parts make the whole.
const beginning = (text) => ((text || "").length > 160 ? h("details", {}, h("summary", {}, text.slice(0, 120)), text.slice(120)) : text);

const causeTable = (caption, rows) => table(caption, [
  "Workload", ["Slower", (row) => title(row.subject)], ["Faster", (row) => title(row.baseline)], "Compiler", ["Verdict", verdictOf], ["What", "what"], ["Where", "places"], ["Share closed", closedShare, "keep"],
  ["Why", (row) => beginning(row.reason || row.detail), "wide"], "Ratio", ["95 % interval", (row) => interval(row.low, row.high), "keep"], ["In the slower program", "subject_operations", "wide"],
  ["In the faster program", "baseline_operations", "wide"], ["Lines", (row) => beginning(row.lines), "wide"], ["Left, ms", "left_ms", "digits"], ["Tried", (row) => beginning(row.tried), "wide"], ["Seconds", "seconds", "digits"], "Run",
], rows);

// Every program in every compiler against its expected values, at the sizes of the study and at odd ones.
function values(at) {
  const every = DATA.values;
  if (!every.length) return [h("h2", {}, "Values"), h("p", {}, "No program was compared with expected values.")];
  const keys = ["status", "workload", "framework", "compiler", "variant"], rows = wanted(every, at, ...keys), { shown, pager } = paged(rows, at);
  return [
    h("h2", {}, "Values"),
    h("div", { class: "bar" }, filters(every, at, ...keys)),
    h("p", {}, "Each program in each compiler, in a process of its own: compiled, called with two sets of inputs and compared with the expected values. Nothing is timed. " +
      "Those that are not ok come first."), pager,
    table(`${rows.length} of ${every.length} checks`, [
      "Workload", "Frontend", "Compiler", "Status", ["Sizes", (row) => (row.variant === "base" ? "the study's" : row.sizes)], ["Wrong elements", "wrong", "number"], ["Of", "total", "number"],
      ["Relative L2 error", "l2", "digits"], ["Largest error", "largest_error", "digits"], ["Judge", "judge"], "Run",
    ], rows, shown),
  ];
}

// What differs between this run and the reference: changed verdicts, then ratios that were not expected, then statuses.
async function against() {
  const head = h("h2", {}, "This run and the reference");
  if (!DATA.against) return [head, h("p", {}, DATA.meta.origin === "reference" ? "This report is of the reference itself." : DATA.reproduction || "This run was not compared with the reference."),
    missing("A run of yours, compared with the reference as text and in one page:", "make compare RUN=results/full")];
  const found = await unpack(DATA.against), tested = found.claims.filter((one) => one.run !== "not testable here"), untested = found.claims.length - tested.length;
  const claims = tested.filter((one) => one.run !== one.reference).sort((a, b) => (b.outcome === "not reproduced") - (a.outcome === "not reproduced"));
  // By what factor a ratio lies outside its prediction interval, or off the reference's without one.
  const beyond = ({ run, reference, predicted }) => { const [low, high] = predicted || [reference, reference]; return Math.max(low / run, run / high); };
  const ratios = found.ratios.filter((one) => one.inside === false || one.same_side === false).sort((a, b) => beyond(b) - beyond(a));
  const cells = found.cells.filter((one) => one.run !== one.reference);
  return [head, h("p", {}, found.summary), h("p", {}, `The machine of this run: ${found.run.machine}. Of the reference: ${found.reference.machines.join("; ")}.`),
    untested ? h("p", {}, `${untested} claims are not testable in this run.`) : null,
    claims.length ? table(`${claims.length} of ${found.claims.length} claims have another verdict, on the rows that both have`, [
      ["Claim", (one) => link(one.sentence, ["claim", one.id]), "wide"], ["In the reference", "reference"], ["Here", "run"], ["What became of it", "outcome"],
    ], claims) : h("p", {}, found.claims.length ? `Of ${found.claims.length} claims, all that this run tests have the verdict that they have in the reference.` : "No claim is compared: the sizes differ from the reference's."),
    ratios.length ? table(`${ratios.length} of ${found.ratios.length} ratios differ: outside the prediction interval of this kind of machine, or with another direction`, [
      "Workload", ["Quantity", "quantity"], ["Subject", (one) => title(one.subject)], ["Over", (one) => title(one.baseline)],
      "Device", "Compiler", ["Here", "run", "digits"], ["Reference", "reference", "digits"],
      ["Expected", (one) => (one.predicted ? interval(...one.predicted) : ""), "keep"],
    ], ratios) : h("p", {}, `None of ${found.ratios.length} ratios lies where the reference does not expect it.`),
    cells.length ? table(`${cells.length} of ${found.cells.length} cells ended otherwise`, [
      "Workload", "Framework", "Device", ["Reference", "reference"], ["Here", "run"],
    ], cells) : h("p", {}, `All ${found.cells.length} cells ended as in the reference.`),
  ];
}
