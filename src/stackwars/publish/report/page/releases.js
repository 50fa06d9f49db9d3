// Every program in each release of a compiler: which release made it faster, slower, wrong or right.
function releases(at) {
  const every = DATA.releases;
  if (!every.length) return [h("h2", {}, "Releases"), missing("No releases of compilers were compared.", "make study STUDIES=releases")];
  const shown = at.query.get("shown") || "", keys = ["workload", "framework", "project", "version", "change", "status"];
  const rows = wanted(every.filter((row) => shown || row.change), at, ...keys), { shown: page, pager } = paged(rows, at);
  const drawn = wanted(every, at, "workload", "framework", "project");
  return [
    h("h2", {}, "Releases"),
    h("div", { class: "bar" }, choice("show", [["", "releases that changed a program"], ["all", "all"]], shown, (value) => go(at, { shown: value })), filters(every, at, ...keys)),
    origin("releases"), h("p", {}, "Which release made a program faster, slower, wrong or right: each program, written once as StableHLO, in releases of a compiler. A large dot is a step, with the factor on the time " +
      "against the release before it that was measured; a cross is a release in which the program failed or was wrong."),
    h("div", { class: "charts" }, unique(drawn.map((row) => row.workload)).map((workload) => h("div", {}, h("h3", {}, whyLink(workload)), releasePlot(drawn.filter((row) => row.workload === workload))))),
    pager, releaseTable(`${rows.length} of ${every.length} programs in a release`, rows, page),
  ];
}

// Milliseconds of a workload's programs over the releases, oldest first: a line for each frontend and project.
function releasePlot(rows) {
  const places = unique(rows.map((row) => row.project)).flatMap((project, after) => unique(rows.filter((row) => row.project === project && row.status !== "unsupported").map((row) => row.version)).reverse()
    .map((version, place) => ({ project, version, gap: after && !place ? 1 : 0 })));
  let at = 0;
  for (const place of places) { at += place.gap; place.at = at; at += 1; }
  const times = rows.map((row) => row.ms).filter((ms) => ms > 0), names = unique(rows.map((row) => row.framework));
  if (!times.length) return h("p", {}, "No release was timed.");
  const low = Math.min(...times) / 1.15, high = Math.max(...times) * 1.3, width = wide(BESIDE), left = 56, top = 22, foot = 190;
  const x = (place) => left + 14 + (width - left - 44) * place / Math.max(1, at - 1), y = logScale(low, high, foot, top);
  const plot = drawing(width, foot + 72, `Milliseconds a call of ${names.map(title).join(" and ")} in ${places.length} releases, from ${number(Math.min(...times))} to ${number(Math.max(...times))} ms; a table has the steps`);
  plot.append(...levels(ticks(low, high, true, 5), y, left, width - 8));
  plot.append(words(4, 12, "ms a call, logarithmic"));
  for (const { project, version, at: place, gap } of places) {
    plot.append(s("text", { transform: `translate(${x(place) + 4} ${foot + 14}) rotate(-50)`, "text-anchor": "end" }, version));
    if (gap || !place) plot.append(words(x(place), foot + 68, project));
  }
  const labels = [];
  for (const name of names) for (const project of unique(places.map((place) => place.project))) {
    const found = places.filter((place) => place.project === project).map((place) => [place, having(rows, { framework: name, project, version: place.version })[0]]).filter(([, row]) => row && row.status !== "unsupported");
    const ink = colour(name), about = (row) => `${title(name)}, ${project} ${row.version}: ${none(row.ms) ? row.status : `${number(row.ms)} ms`}${row.change ? `, ${row.change}` : ""}${signed(row)}`;
    plot.append(s("polyline", { points: found.filter(([, row]) => row.ms > 0).map(([place, row]) => `${x(place.at)},${y(row.ms)}`).join(" "), fill: "none", stroke: ink, "stroke-width": 1.5 }));
    for (const [place, row] of found) {
      const isStep = !none(row.change_ratio) && row.ms > 0;
      plot.append(row.ms > 0 ? s("circle", { cx: x(place.at), cy: y(row.ms), r: isStep ? 5 : 2.5, fill: ink }, s("title", {}, about(row)))
        : s("path", { d: `M${x(place.at) - 4} ${foot - 8}l8 8m0-8l-8 8`, stroke: ink, "stroke-width": 2 }, s("title", {}, about(row))));
      // Above the step or below it, where no other label is; the table has all.
      const label = [y(row.ms) - 8, y(row.ms) + 18].map((height) => [x(place.at), height]).find((spot) => labels.every((other) => Math.abs(other[0] - spot[0]) > 40 || Math.abs(other[1] - spot[1]) > 12));
      if (!isStep || !label) continue;
      labels.push(label);
      plot.append(words(...label, `\u00d7${number(row.change_ratio)}`, "middle"));
    }
  }
  return h("div", {}, plot, legend(names.map((name) => [dot(colour(name)), title(name)])));
}

const releaseTable = (caption, rows, shown = rows) => table(caption, [
  "Workload", "Frontend", ["Project", "project"], ["Release", "version", "keep"], ["Change", "change"], ["Since", "previous", "keep"], ["Time over the release before", "change_ratio", "digits"],
  ["its interval", (row) => interval(row.change_low, row.change_high), "keep"], ["Time, ms", "ms", "digits"], ["Over the newest", "ratio", "digits"], "Interval", "Status", ["Wrong elements", "where"], "Run",
], rows, shown);

const UPSTREAM = "docs/upstream.md";

// What `make explain` answered: the region that is slow, or the smallest program that is wrong, and what makes it go away.
function explained(at) {
  const every = DATA.explained;
  if (!every.length) return [h("h2", {}, "Explained"), missing("No answer of make explain is in this report.", "make explain PROGRAM=docs/examples/softmax.py")];
  const own = every.filter((row) => row.name === at.parts[1]);
  if (own.length) return [h("h2", {}, `Explained: ${own[0].title}`), missing("Searched by", own[0].command), ...own.flatMap(answerOf), h("p", {}, link("All answers", ["explained"]))];
  const keys = ["workload", "kind", "compiler", "verdict"], rows = matching(wanted(every, at, ...keys), at, (row) => [row.title, row.sentence, row.compiler, ...row.cures].join(" "));
  return [
    h("h2", {}, "Explained"),
    h("div", { class: "bar" }, filters(every, at, ...keys), searchBox(at)),
    h("p", {}, "What make explain answered about workloads and about public reports: why a program is slow or wrong, which pass or option makes that go away, and a script that reproduces it. ",
      "To file: the answer of a fault has the script inline; reports that can be filed as they are, are in ", h("a", { href: UPSTREAM }, UPSTREAM), "."),
    explainedTable(`${rows.length} of ${every.length} answers`, rows),
  ];
}

const MOST_CURES = 3;
const curesOf = (cures) => [...cures.slice(0, MOST_CURES), ...(cures.length > MOST_CURES ? [`${cures.length - MOST_CURES} more`] : [])].join("; ");
// The first sentence of an answer, of a fault two; the others describe each region, which a table has.
const firstOf = ({ sentence: text, kind }) => text.split(/(?<=\.) /).slice(0, kind === "fault" ? 2 : 1).join(" ");

const explainedTable = (caption, rows) => table(caption, [
  ["Program", (row) => link(row.title, ["explained", row.name])], ["Compiler", (row) => [row.compiler, row.other].filter(Boolean).join(" / ")], ["Verdict", verdictOf], ["Answer", firstOf, "wide"],
  ["Passes and options that change it", (row) => curesOf(row.cures), "wide"], ["To file", (row) => (row.script ? link("script", ["explained", row.name]) : "")], ["About", "kind"],
  ["Share closed", (row) => shareText(row.share, row.low, row.high), "keep"], ["Workload", (row) => (row.workload ? whyLink(row.workload) : "")],
], rows);

const regionTable = (caption, regions, more = []) => table(caption, [
  ["What", "what"], ["Where", "places"], ["Share closed", (region) => (none(region.share) ? "" : percent(region.share)), "number"], ["Slower, ms", "subject_ms", "digits"], ["Faster, ms", "baseline_ms", "digits"],
  ["Why", "why", "wide"], ["Slower's line", "subject_line"], ["Faster's line", "baseline_line"], ...more,
], regions);

function answerOf(row) {
  const sides = row.other ? [row.compiler, row.other] : [title(row.subject), title(row.baseline)];
  return [
    h("h3", {}, [row.kind === "fault" ? "Fault" : "Cause", row.compiler, row.kind === "fault" ? title(row.subject) : sides.join(" / ")].join(", "), sign(row)),
    h("p", {}, row.sentence),
    row.cures.length ? h("p", {}, "It is gone with: ", listOf(row.cures.map((flag) => h("code", {}, flag))), ".") : null,
    row.regions.length ? regionTable("Regions of the cause", row.regions, [
      ["Slower's operations", (region) => h("code", { class: "lines" }, region.subject.join("\n")), "wide"], ["Faster's operations", (region) => h("code", { class: "lines" }, region.baseline.join("\n")), "wide"],
    ]) : null,
    ...(row.reduced ? [h("h4", {}, "The smallest program that shows it"), preformatted("Reduced program", row.reduced)] : []),
    ...(row.script ? [h("h4", {}, "What to file: a script that exits with 1 while the fault is there"),
      h("button", { type: "button", click: () => save(`${row.name}.py`, row.script, "text/x-python") }, "Save reproduce.py"), preformatted("Script", row.script)] : []),
  ];
}
