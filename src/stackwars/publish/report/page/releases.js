// Every program in each release of a compiler: which release made it faster, slower, wrong or right.
async function releases(at) {
  const every = await unpack(DATA.releases);
  if (!every.length) return [h("h2", {}, "Releases"), missing("No releases of compilers were compared.", "make study STUDIES=releases")];
  const shown = at.query.get("shown") || "", keys = ["workload", "framework", "project", "change", "status"];
  const rows = wanted(every.filter((row) => shown || row.change), at, ...keys), { shown: page, pager } = paged(rows, at);
  return [
    h("h2", {}, "Releases"),
    h("div", { class: "bar" }, choice("show", [["", "releases that changed a program"], ["all", "all"]], shown, (value) => go(at, { shown: value })), filters(every, at, ...keys)),
    origin("releases"), h("p", {}, "Each program, written once as StableHLO, in releases of a compiler. A change is against the release before it that was measured; the ratio is to the newest release."), pager,
    releaseTable(`${rows.length} of ${every.length} programs in a release`, rows, page),
  ];
}

const releaseTable = (caption, rows, shown = rows) => table(caption, filled([
  ["Workload", (row) => whyLink(row.workload, row.title)], ["Frontend", (row) => title(row.framework)], ["Project", (row) => row.project], ["Release", (row) => row.version, "keep"],
  ["Status", (row) => clipped(statusOf(row))], ["Change", (row) => row.change], ["Since", (row) => row.previous, "keep"], ["Time over the release before", (row) => number(row.change_ratio), "number"],
  ["its interval", (row) => interval(row.change_low, row.change_high), "keep"], ["ms", (row) => number(row.ms), "number"], ["Over the newest", (row) => number(row.ratio), "number"],
  ["Interval", (row) => interval(row.low, row.high), "keep"], ["Wrong elements", (row) => row.where], ["Run", (row) => row.run, "keep"],
], rows), rows, shown);

const UPSTREAM = "docs/upstream.md";

// What `make explain` answered: the region that is slow, or the smallest program that is wrong, and what makes it go away.
async function explained(at) {
  const every = await unpack(DATA.explained);
  if (!every.length) return [h("h2", {}, "Explained"), missing("No answer of make explain is in this report.", "make explain PROGRAM=docs/examples/softmax.py")];
  const own = every.filter((row) => row.name === at.parts[1]);
  if (own.length) return [h("h2", {}, `Explained: ${own[0].title}`), missing("Searched by", own[0].command), ...own.flatMap(answerOf), h("p", {}, link("All answers", ["explained"]))];
  const keys = ["workload", "kind", "compiler", "verdict"], rows = matching(wanted(every, at, ...keys), at, (row) => [row.title, row.sentence, row.compiler, ...row.cures].join(" "));
  return [
    h("h2", {}, "Explained"),
    h("div", { class: "bar" }, filters(every, at, ...keys), searchBox(at)),
    h("p", {}, "What make explain answered about workloads and about public reports: why a program is slow or wrong, which pass or option makes that go away, and a script that reproduces it. " +
      `What can be filed as it is, is in ${UPSTREAM}.`),
    explainedTable(`${rows.length} of ${every.length} answers`, rows),
  ];
}

const MOST_CURES = 3;
const curesOf = (cures) => [...cures.slice(0, MOST_CURES), ...(cures.length > MOST_CURES ? [`${cures.length - MOST_CURES} more`] : [])].join("; ");
// The first sentence of an answer, of a fault two; the others describe each region, which a table has.
const firstOf = ({ sentence: text, kind }) => text.split(/(?<=\.) /).slice(0, kind === "fault" ? 2 : 1).join(" ");

const explainedTable = (caption, rows) => table(caption, filled([
  ["Program", (row) => link(row.title, ["explained", row.name])], ["Workload", (row) => (row.workload ? whyLink(row.workload) : "")], ["About", (row) => row.kind], ["Compiler", (row) => [row.compiler, row.other].filter(Boolean).join(" / "), "keep"],
  ["Verdict", (row) => row.verdict], ["Share closed", (row) => (none(row.share) ? "" : `${percent(row.share)} [${percent(row.low)}, ${percent(row.high)}]`), "keep"],
  ["Answer", (row) => firstOf(row), "wide"], ["Passes and options that cure it", (row) => curesOf(row.cures), "wide"], ["To file", (row) => (row.script ? "script" : "")],
], rows), rows);

const regionTable = (caption, regions, more = []) => table(caption, filled([
  ["What", (region) => region.what], ["Times", (region) => region.count, "number"], ["Share closed", (region) => (none(region.share) ? "" : percent(region.share)), "number"],
  ["Slower, ms", (region) => number(region.subject_ms), "number"], ["Faster, ms", (region) => number(region.baseline_ms), "number"],
  ["Slower's line", (region) => region.subject_line, "keep"], ["Faster's line", (region) => region.baseline_line, "keep"], ["Why", (region) => region.why, "wide"], ...more,
], regions), regions);

function answerOf(row) {
  const code = (text, label) => h("pre", { class: "scroll log", tabindex: "0", role: "region", "aria-label": label }, text);
  const sides = row.other ? [row.compiler, row.other] : [title(row.subject), title(row.baseline)];
  return [
    h("h3", {}, [row.kind === "fault" ? "Fault" : "Cause", row.compiler, row.kind === "fault" ? title(row.subject) : sides.join(" / ")].join(", "), sign(row)),
    h("p", {}, row.sentence),
    row.cures.length ? h("p", {}, "It is gone with: ", listOf(row.cures.map((flag) => h("code", {}, flag))), ".") : null,
    row.regions.length ? regionTable("Regions of the cause", row.regions, [
      ["Slower's operations", (region) => h("code", { class: "lines" }, region.subject.join("\n")), "wide"], ["Faster's operations", (region) => h("code", { class: "lines" }, region.baseline.join("\n")), "wide"],
    ]) : null,
    ...(row.reduced ? [h("h4", {}, "The smallest program that shows it"), code(row.reduced, "Reduced program")] : []),
    ...(row.script ? [h("h4", {}, "What to file: a script that exits with 1 while the fault is there"),
      h("button", { type: "button", click: () => save(`${row.name}.py`, row.script, "text/x-python") }, "Save reproduce.py"), code(row.script, "Script")] : []),
  ];
}
