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
    table(`${rows.length} of ${every.length} checks`, filled([
      ["Workload", (row) => whyLink(row.workload, row.title)], ["Frontend", (row) => title(row.framework)], ["Compiler", (row) => row.compiler, "keep"], ["Status", (row) => clipped(statusOf(row))],
      ["Sizes", (row) => (row.variant === "base" ? "the study's" : row.sizes)], ["Wrong elements", (row) => row.wrong, "number"], ["Of", (row) => row.total, "number"],
      ["Relative L2 error", (row) => number(row.l2), "number"], ["Largest error", (row) => number(row.largest_error), "number"], ["Judge", (row) => row.judge], ["Run", (row) => row.run, "keep"],
    ], rows), rows, shown),
  ];
}
