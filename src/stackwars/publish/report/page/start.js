const statusOf = (cell) => (cell.status === "ok" ? "ok" : [cell.status, cell.status_detail].filter(Boolean).join(": "));
const clipped = (text) => (text.length > 160 ? `${text.slice(0, 160)} ...` : text);

const counted = (values) => unique(values).map((one) => `${values.filter((value) => value === one).length} ${one}`).join(", ");

// Who is slower and why, then everything else that is in this report.
function start(at) {
  const machine = DATA.meta.machine || {}, isReference = DATA.meta.origin === "reference";
  return [
    ...overview(heat(at)),
    h("p", {}, link("Claims", ["claims"]), `: ${counted(DATA.claims.map((claim) => claim.verdict))}. `, DATA.reproduction || (isReference ? "" : "This run was not compared with the reference.")),
    h("h2", {}, isReference ? "The reference" : "This run"),
    h("p", {}, `${isReference ? `Its newest full run, ${DATA.raw_run}, whose raw calls this report has: preset` : "Preset"} ${DATA.meta.preset}, ` +
      `last process started ${DATA.meta.date_utc}, revision ${DATA.meta.git_revision}. ` +
      `${machine.cpu_model}, ${machine.cores} cores, ${number((machine.memory_bytes || 0) / 2 ** 30)} GiB, ${machine.os}.`),
    table("What is in this report", [["Study", ([name, one]) => `${name}${signed(one)}`], ["Where it is from", ([, { origin: from }]) => from], ["Cells", ([name]) => modesOf(name)]],
      Object.entries(DATA.studies).filter(([name]) => modesOf(name).textContent)),
    ...notRun(),
    h("h2", {}, "Words"),
    h("dl", {}, Object.entries(DATA.glossary).flatMap(([word, text]) => [h("dt", {}, word), h("dd", {}, `${sentence(text)}.`)])),
  ];
}

// Figure 1 of the paper, and a row for each workload, the largest gap first: who is slower by how much, and the cause; below the
// figure the matrix of compilers.
function overview(matrix) {
  const { subject, baseline } = DATA.pair, gap = (row) => Math.max(0, ...(row.native?.kinds || []).map(({ ratio }) => Math.abs(Math.log(ratio))));
  const every = Object.keys(DATA.why).map((workload) => ({ workload, title: titleOf(workload), native: ofPair(workload, "steady")[0], compilers: DATA.figure.includes(workload) ? inCompilers(workload) : [] }));
  const rows = every.sort((a, b) => gap(b) - gap(a)), sizes = rows.filter((row) => row.workload.includes("@")), main = rows.filter((row) => !sizes.includes(row));
  if (!rows.length) return [h("h2", {}, "Why"), missing("No two frontends were compared.", "make paper"), ...matrix];
  const times = (machine) => [`Time over ${title(baseline)}'s, ${machine || "this run"}`, ({ native }) => {
    const one = native?.kinds.find((other) => other.machine === machine);
    return one ? h("span", {}, `${number(one.ratio)}\u00d7 `, h("small", {}, interval(one.low, one.high)), sign(native)) : "";
  }, "number"];
  const columns = [["Workload", (row) => link(row.title, ["why", row.workload])], [`${title(subject)} is`, ({ native }) => (native ? native.verdict : "not compared")],
    ["Cause", ({ native, workload }) => (isDecided(native?.verdict) ? causeWords(workload) : ""), "cause"], ...MACHINES.map(times)];
  const tableOf = (caption, own) => [table(caption, columns, own), signLegend(own.map((row) => row.native))];
  return [h("h2", {}, `Why is ${title(subject)} slower, or faster, than ${title(baseline)}?`),
    h("p", {}, `The figure: the ${title(subject)} `, term("program"), ` over the ${title(baseline)} program, replayed in each `, term("compiler"), ". The table: the frameworks' own calls in the ", term("steady state"),
      ", with intervals, on each kind of machine; a cause has the share of the gap that it closes. A workload leads to all that is known about it."),
    beside(h("div", {}, programFigure(main)), h("div", {}, tableOf(`${main.length} workloads, the largest gap first`, main), sizes.length ? h("details", {}, h("summary", {}, `${sizes.length} further sizes of these workloads`), tableOf(`${sizes.length} sizes`, sizes)) : null), h("div", {}, matrix))];
}

// The ratios of both programs in each compiler, which has a colour; the name of a workload leads to its page.
function programFigure(rows) {
  const known = rows.filter(({ compilers }) => compilers.length), isDrawn = ({ compilers }) => compilers.some(({ kinds }) => kinds.some(({ ratio }) => Math.max(ratio, 1 / ratio) > DATA.large));
  const lines = known.filter(isDrawn).flatMap((row) => row.compilers), near = known.filter((row) => !isDrawn(row)), compilers = unique(lines.map((row) => row.compiler));
  if (!lines.length) return [h("p", {}, "No ratio of both programs in one compiler is large.")];
  return [legend(compilers.map((name, place) => [dot(roundColour(place)), name])),
    forest(lines, { label: (row) => row.title, to: (row) => address(["why", row.workload]), ink: (row) => roundColour(compilers.indexOf(row.compiler)), most: BESIDE }),
    near.length ? h("p", {}, `Not drawn, near 1 in every compiler: ${near.map((row) => row.title).join(", ")}.`) : null];
}

function modesOf(study) {
  const rows = DATA.cells.filter((row) => row.study === study && row.status !== "not run");
  const links = unique(rows.map((row) => row.mode)).map((mode) =>
    link(`${mode}: ${counted(rows.filter((row) => row.mode === mode).map((row) => row.status))}`, ["cells"], [["study", study], ["mode", mode]]));
  const count = DATA.compiled.filter((row) => row.study === study).length;
  return h("span", {}, listOf(count ? [...links, link(`compiled for targets: ${count}`, ["compiled"], [["study", study]])] : links));
}

// The cells that were not run: a line for each device and reason.
function notRun() {
  const absent = DATA.cells.filter((cell) => cell.status === "not run"), why = (cell) => `${cell.device}: ${cell.status_detail || "no reason was recorded"}`;
  return [h("h2", {}, "Not run"), absent.length ? h("ul", {}, unique(absent.map(why)).map((text) => {
    const same = absent.filter((cell) => why(cell) === text);
    return h("li", {}, `${same.length} cells on `, text, " (", listOf(unique(same.map((cell) => cell.study)).map((study) =>
      link(study, ["cells"], [["study", study], ["device", same[0].device], ["status", "not run"]]))), ")");
  })) : h("p", {}, "Every cell was run.")];
}

const MOST_WORKLOADS = 40;

// The matrix of frontends and compilers, a row for each program.
function heat(at) {
  const replays = DATA.cells.filter((row) => row.mode === "replay");
  if (!replays.length) return [h("p", {}, "No program was given to another compiler.")];
  const largest = (names) => names.reduce((a, b) => (replays.filter((row) => row.study === b).length > replays.filter((row) => row.study === a).length ? b : a));
  const { control, origin: from, rows: own } = studyOf(replays, at, largest);
  const pair = Object.values(DATA.pair), others = unique(own.map((row) => row.framework)).filter((name) => !pair.includes(name));
  const isAll = at.query.get("frontends") === "all" || others.length === unique(own.map((row) => row.framework)).length;
  const rows = wanted(own, at, "workload").filter((row) => isAll || pair.includes(row.framework)), compilers = unique(own.map((row) => row.compiler));
  const all = unique(rows.map((row) => row.workload)), over = at.query.get("over") || "";
  const lines = all.slice(0, MOST_WORKLOADS).flatMap((workload) => unique(rows.filter((row) => row.workload === workload).map((row) => row.framework)).map((name, place) =>
    h("tr", {}, place ? h("td") : h("th", { scope: "row" }, titleOf(workload)), h("td", {}, title(name)),
      compilers.map((compiler) => heatCell(rows.find((row) => row.workload === workload && row.framework === name && row.compiler === compiler), over)))));
  return [h("h2", {}, "Frontends and compilers"), from,
    h("p", {}, `Time of every frontend's program in every compiler, over that ${over ? `of ${title(DATA.pair.baseline)}'s program in the same compiler` : "in the program's own fastest compiler"}. A darker cell is slower. ` +
      "A cell leads to its replay, or to the reason why it has none."),
    h("div", { class: "bar" }, control, filters(own, at, "workload"),
      others.length ? choice("frontends", [["", "the two compared"], ["all", "all"]], at.query.get("frontends") || "", (value) => go(at, { frontends: value })) : null,
      choice("over", [["", "its fastest compiler"], ["baseline", title(DATA.pair.baseline)]], over, (value) => go(at, { over: value })),
      link("as a table", ["cells"], [["study", own[0].study], ["mode", "replay"], ["workload", at.query.get("workload")]])),
    all.length > MOST_WORKLOADS ? h("p", {}, `The first ${MOST_WORKLOADS} of ${all.length} workloads.`) : null,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Matrix" }, h("table", {},
      h("thead", {}, h("tr", {}, ["Workload", "Frontend", ...compilers].map((text) => h("th", { scope: "col", title: meaning(text) }, text)))),
      roving(h("tbody", {}, lines)))),
    ...factors(at)];
}

function heatCell(row, over) {
  if (!row) return h("td", { class: "heat" });
  if (none(row.over_best)) return h("td", { class: "heat" }, h("a", { class: "reason", href: address(replayParts(row)), title: row.status_detail }, row.status, none(row.struck_ms) ? null : [" ", steadyTime(row)]));
  const value = over ? (row.framework === DATA.pair.baseline ? 1 : row.ratio) : row.over_best;
  if (none(value)) return h("td", { class: "heat" }, h("a", { class: "reason", href: address(replayParts(row)), title: `${number(row.steady_ms)} ms; not compared` }, "no ratio"));
  const { background, ink } = shade(Math.log2(Math.max(1, value)) / 2);
  return h("td", { class: "heat", style: `background: ${background}; color: ${ink}` },
    h("a", { href: address(replayParts(row)), title: `${number(row.steady_ms)} ms` }, `${number(value)}\u00d7${signed(row)}`));
}

// By what factor frontend, compiler and their interaction move a time, for each workload of the matrix.
function factors(at) {
  const rows = wanted(DATA.effects, at, "workload");
  if (!rows.length) return [];
  return [h("details", {}, h("summary", {}, "By what factor frontend and compiler move a time"), table("Typical factor on a time", [
    ["Workload", (row) => titleOf(row.workload)], ["Of", "subset"], ["Effect", "effect"], ["Factor", "factor", "digits"],
    ["Largest", "largest"], "Run",
  ], rows))];
}
