const MOST_WORKLOADS = 40;

// The matrix of frontends and compilers, a row for each program.
function heat(at) {
  if (!DATA.matrix.length) return [h("p", {}, "No program was given to another compiler.")];
  const compilers = unique(DATA.matrix.map((row) => row.compiler));
  const workloads = new Map();
  for (const row of DATA.matrix) {
    if (!workloads.has(row.workload)) workloads.set(row.workload, { title: row.title, frontends: new Map() });
    const { frontends } = workloads.get(row.workload);
    if (!frontends.has(row.framework)) frontends.set(row.framework, new Map());
    frontends.get(row.framework).set(row.compiler, row);
  }
  const all = [...workloads.keys()].filter((name) => !at.query.get("workload") || name === at.query.get("workload"));
  const lines = all.slice(0, MOST_WORKLOADS).flatMap((workload) => {
    const { title: shown, frontends } = workloads.get(workload);
    return [...frontends].map(([name, found], place) => h("tr", {}, place ? h("td") : h("th", { scope: "row" }, shown), h("td", {}, title(name)),
      compilers.map((compiler) => heatCell(found.get(compiler)))));
  });
  const listed = DATA.matrix.filter(wanted(at, "workload"));
  return [h("h2", {}, "Frontends and compilers"),
    h("p", {}, "Time of every frontend's program in every compiler, over that in the program's own fastest compiler. A darker cell is slower. " +
      "A cell leads to its replay, or to the reason why it has none."),
    h("div", { class: "bar" }, filtered(at, "workload", [...workloads.keys()], (name) => workloads.get(name).title), copied(REPLAY_COLUMNS, listed)),
    all.length > MOST_WORKLOADS ? h("p", {}, `The first ${MOST_WORKLOADS} of ${all.length} workloads.`) : null,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Matrix" }, h("table", {},
      h("thead", {}, h("tr", {}, ["Workload", "Frontend", ...compilers].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, lines)))];
}

function heatCell(row) {
  if (!row) return h("td", { class: "heat" });
  const parts = ["replay", row.device, row.compiler, row.framework, row.workload];
  if (none(row.over_best)) return h("td", { class: "heat" }, h("a", { class: "reason", href: address(parts), title: row.status_detail }, row.status));
  const { background, ink } = shade(Math.log2(Math.max(1, row.over_best)) / 2);
  return h("td", { class: "heat", style: `background: ${background}; color: ${ink}` },
    h("a", { href: address(parts), title: `${number(row.replay_ms)} ms` }, `${number(row.over_best)}×`));
}
