const MOST_WORKLOADS = 40;

// The matrix of frontends and compilers, a row for each program.
function heat(at) {
  const replays = DATA.cells.filter((row) => row.mode === "replay" && !row.framework.includes("+"));
  if (!replays.length) return [h("p", {}, "No program was given to another compiler.")];
  const largest = (names) => names.reduce((a, b) => (replays.filter((row) => row.study === b).length > replays.filter((row) => row.study === a).length ? b : a));
  const { control, origin: from, rows: own } = studyOf(replays, at, largest);
  const rows = wanted(own, at, "workload"), compilers = unique(own.map((row) => row.compiler));
  const all = unique(rows.map((row) => row.workload));
  const lines = all.slice(0, MOST_WORKLOADS).flatMap((workload) => unique(own.filter((row) => row.workload === workload).map((row) => row.framework)).map((name, place) =>
    h("tr", {}, place ? h("td") : h("th", { scope: "row" }, titleOf(workload)), h("td", {}, title(name)),
      compilers.map((compiler) => heatCell(own.find((row) => row.workload === workload && row.framework === name && row.compiler === compiler))))));
  return [h("h2", {}, "Frontends and compilers"), from,
    h("p", {}, "Time of every frontend's program in every compiler, over that in the program's own fastest compiler. A darker cell is slower. " +
      "A cell leads to its replay, or to the reason why it has none."),
    h("div", { class: "bar" }, control, filters(own, at, "workload"), link("as a table", ["cells"], [["study", rows[0].study], ["mode", "replay"], ["workload", at.query.get("workload")]])),
    all.length > MOST_WORKLOADS ? h("p", {}, `The first ${MOST_WORKLOADS} of ${all.length} workloads.`) : null,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Matrix" }, h("table", {},
      h("thead", {}, h("tr", {}, ["Workload", "Frontend", ...compilers].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, lines))),
    ...factors(at)];
}

function heatCell(row) {
  if (!row) return h("td", { class: "heat" });
  if (none(row.over_best)) return h("td", { class: "heat" }, h("a", { class: "reason", href: address(replayParts(row)), title: row.status_detail }, row.status));
  const { background, ink } = shade(Math.log2(Math.max(1, row.over_best)) / 2);
  return h("td", { class: "heat", style: `background: ${background}; color: ${ink}` },
    h("a", { href: address(replayParts(row)), title: `${number(row.steady_ms)} ms` }, `${number(row.over_best)}×`));
}

// By what factor frontend, compiler and their interaction move a time, for each workload of the matrix.
function factors(at) {
  const rows = wanted(DATA.effects, at, "workload");
  if (!rows.length) return [];
  return [h("details", {}, h("summary", {}, "By what factor frontend and compiler move a time"), table("Factors, and the shares of the variance that they stand for", [
    ["Workload", (row) => titleOf(row.workload)], ["Of", (row) => row.subset], ["Effect", (row) => row.effect], ["Factor", (row) => number(row.factor), "number"],
    ["Share", (row) => (none(row.share) ? "" : percent(row.share)), "number"], ["95 % interval", (row) => (none(row.share_low) ? "" : `[${percent(row.share_low)}, ${percent(row.share_high)}]`), "keep"], ["Largest", (row) => row.largest], ["Run", (row) => row.run, "keep"],
  ], rows))];
}
