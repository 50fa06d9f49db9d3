// Every comparison as a line with its interval; of two runs, the other one's below it.
function forest(rows, single, others) {
  if (!rows.length) return h("p", {}, "No ratio is known.");
  const named = ["compiler", "device", "variant"].filter((name) => unique(rows.map((row) => row[name])).length > 1);
  const labels = rows.map((row) => [row.title, title(row.subject), ...named.map((name) => row[name])].filter(Boolean).join(", "));
  const line = others ? 26 : 18, left = 30 + 6.3 * Math.max(34, ...labels.map((text) => text.length)), width = left + 540, top = 40, height = top + line * rows.length + 26;
  const otherRow = rows.map((row) => (others && others.get(keyOf(row))) || {});
  const ends = [...rows, ...otherRow].flatMap((row) => [row.ratio, row.low, row.high]).concat(single ? rows.flatMap((row) => row.each.map(([, , ratio]) => ratio)) : []).filter((value) => value > 0);
  const low = Math.max(Math.min(0.5, ...ends), 1 / 64), high = Math.min(Math.max(2, ...ends), 64);
  const x = (ratio) => left + (width - left - 20) * Math.log(Math.min(Math.max(ratio, low), high) / low) / Math.log(high / low);
  const plot = drawing(width, height, `Ratios of ${rows.length} comparisons with their intervals; the table below has them`);
  for (const tick of [1 / 32, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 32].filter((tick) => tick >= low && tick <= high)) {
    plot.append(s("line", { x1: x(tick), x2: x(tick), y1: top - 4, y2: height - 22, stroke: tick === 1 ? "#333" : "#ddd" }),
      words(x(tick), height - 6, tick < 1 ? `1/${1 / tick}` : tick, "middle"));
  }
  plot.append(words(x(1) - 8, 14, "\u2190 less than the baseline", "end"), words(x(1) + 8, 14, "more than the baseline \u2192"), words(0, 14, "Filled: decided. Hollow: not decided."));
  rows.forEach((row, place) => {
    const y = top + line * place + 8, ink = colour(row.subject), isOpen = UNDECIDED.includes(row.verdict);
    const bar = (of, up, stroke) => (none(of.low) ? null : s("line", { x1: x(of.low), x2: x(of.high), y1: up, y2: up, stroke, "stroke-width": 2 }));
    plot.append(words(left - 10, y + 4, labels[place], "end"),
      ...some([bar(row, y, ink)]),
      s("circle", { class: isOpen ? "open" : null, cx: x(row.ratio), cy: y, r: 4, fill: isOpen ? "#fff" : ink, stroke: ink, "stroke-width": 1.5 }, s("title", {}, `${number(row.ratio)} ${interval(row.low, row.high)}, ${row.verdict}`)),
      ...(single ? row.each : []).map(([run, round, ratio]) => s("circle", { class: "round", cx: x(ratio), cy: y, r: 2, fill: "#333", "fill-opacity": 0.5 },
        s("title", {}, `${run ? `${run}, ` : ""}${none(round) ? "all rounds" : `round ${round + 1}`}: ${number(ratio)}`))));
    const other = otherRow[place], under = y + 9;
    if (none(other.ratio)) return;
    plot.append(...some([bar(other, under, "#777")]), s("path", { d: `M${x(other.ratio)} ${under - 4} l4 4 -4 4 -4 -4 z`, fill: "#fff", stroke: "#555" }));
  });
  return plot;
}

const KEYS = ["quantity", "workload", "device", "compiler", "baseline_compiler", "variant", "subject", "baseline", "baseline_workload"];
const keyOf = (row) => KEYS.map((name) => row[name] || "").join("/");
const UNDECIDED = ["inconclusive", "no interval", "no data", "not decided", "not separated"];

async function comparisons(at) {
  const every = (await unpack(DATA.comparisons)).flatMap((row) => row.studies.map((study) => ({ ...row, study })));
  if (!every.length) return [h("h2", {}, "Comparisons"), h("p", {}, "Nothing was compared.")];
  const { study, control, origin: from, rows: own } = studyOf(every, at), quantities = Object.keys(DATA.quantities).filter((name) => own.some((row) => row.quantity === name));
  const quantity = oneOf(at, "quantity", [quantities.includes("steady") ? "steady" : quantities[0], ...quantities]);
  const all = own.filter((row) => row.quantity === quantity), keys = ["compiler", "variant", "workload", "subject", "device", "verdict"];
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
    forest(shown.filter((row) => !none(row.ratio)), single, others),
    comparisonTable(rows, shown, single, others),
    all.some((row) => !none(row.confidence)) ? h("p", {}, "The interval decides. All intervals of a quantity on a device have one level, so that of those that decide 5 % may miss the true ratio. " +
      "Detectable: the smallest difference that could have been found, with a power of 80 %. Contended: one of the two kept far more of its blocks undisturbed than the other.") : null,
  ];
}

function comparisonTable(rows, shown, single, others) {
  const otherRow = (row) => (others && others.get(keyOf(row))) || {};
  return table(`${rows.length} comparisons; ratios are of the subject over the baseline, with intervals at the level given`, filled([
    ["Workload", (row) => row.title], ["Over", (row) => row.baseline_workload],
    ["Subject", (row) => sideLink(row, row.subject, row.compiler)], ["Baseline", (row) => sideLink(row, row.baseline, row.baseline_compiler || row.compiler)],
    ["Device", (row) => row.device], ["Compiler", (row) => row.compiler, "keep"], ["Baseline's compiler", (row) => row.baseline_compiler, "keep"], ["Variant", (row) => row.variant],
    ["Ratio", (row) => number(row.ratio), "number"], ["Interval", (row) => interval(row.low, row.high), "keep"], ["Level", (row) => (none(row.confidence) ? "" : `${(100 * row.confidence).toFixed(1)} %`), "number"],
    ["Verdict", (row) => row.verdict], ["Share", (row) => (none(row.share) ? "" : percent(row.share)), "number"], ["About", (row) => row.detail], ["Steady ratio", (row) => row.native_verdict],
    ["Detectable", (row) => (none(row.detectable) ? "" : percent(row.detectable)), "number"], ["Published", (row) => number(row.published_ratio), "number"],
    ["Marks", (row) => [row.gated === false ? "not gated" : "", row.contended ? "contended" : ""].filter(Boolean).join(", ")],
    ["Rounds", (row) => row.rounds, "number"], ["Runs", (row) => row.runs, "number"], ["One more run", (row) => interval(row.predicted_low, row.predicted_high), "keep"], ["Run", (row) => row.run, "keep"],
    ["Other run", (row) => number(otherRow(row).ratio), "number"], ["its interval", (row) => interval(otherRow(row).low, otherRow(row).high), "keep"], ["its verdict", (row) => otherRow(row).verdict],
    ["Of each round", (row) => (single ? eachRound(row.each) : ""), "wide"],
  ], rows), rows, shown);
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
