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
