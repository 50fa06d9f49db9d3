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
