const mib = (bytes) => (none(bytes) ? "" : number(bytes / 2 ** 20));

// Programs that were compiled for devices, which need not be here: what they need and whether it fits.
async function compiled(at) {
  const every = await unpack(DATA.compiled);
  if (!every.length) return [h("h2", {}, "Compiled programs"), h("p", {}, "No program was compiled for a target.")];
  const { control, origin: from, rows: own } = studyOf(every, at);
  const keys = ["workload", "framework", "target", "compiler", "variant"], rows = wanted(own, at, ...keys), { shown, pager } = paged(rows, at);
  return [
    h("h2", {}, "Compiled programs"),
    h("div", { class: "bar" }, control, filters(own, at, ...keys)),
    from, h("p", {}, "Each program as a compiler made it for a device, without running it. Memory in MiB; fits: against the usable memory of the device."), pager,
    table(`${rows.length} of ${own.length} compilations`, filled([
      ["Workload", (row) => row.title], ["Frontend", (row) => title(row.framework)], ["Target", (row) => row.target, "keep"], ["Compiler", (row) => row.compiler, "keep"], ["Size", (row) => row.variant],
      ["Verdict", (row) => row.verdict || clipped(statusOf(row))], ["Published", (row) => row.published_status], ["Needs", (row) => mib(row.hbm_bytes), "number"], ["Arguments", (row) => mib(row.argument_bytes), "number"],
      ["Temporaries", (row) => mib(row.temp_bytes), "number"], ["Usable", (row) => mib(row.usable_bytes), "number"], ["Largest batch", (row) => row.largest_batch, "number"],
      ["Operations", (row) => row.operations, "number"], ["Fusions", (row) => row.fusions, "number"], ["Estimated cycles", (row) => number(row.estimated_cycles), "number"],
      ["Compile s", (row) => number(row.compile_s), "number"], ["Run", (row) => row.run, "keep"],
    ], rows), rows, shown),
  ];
}
