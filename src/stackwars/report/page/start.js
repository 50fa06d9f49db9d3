const statusOf = (cell) => (cell.status === "ok" ? "ok" : `${cell.status}: ${cell.status_detail || ""}`);

const counted = (values) => unique(values).map((one) => `${values.filter((value) => value === one).length} ${one}`).join(", ");

function start(at) {
  const machine = DATA.meta.machine || {};
  const bad = DATA.cells.filter((cell) => cell.status !== "ok");
  const { shown, pager } = paged(bad, at, 50);
  return [
    h("h2", {}, "This run"),
    h("p", {}, `${DATA.meta.origin === "reference" ? "The reference" : "Measured here"}, preset ${DATA.meta.preset}, ` +
      `last process started ${DATA.meta.date_utc}, revision ${DATA.meta.git_revision}. ` +
      `${machine.cpu_model}, ${machine.cores} cores, ${number((machine.memory_bytes || 0) / 2 ** 30)} GiB, ${machine.os}.`),
    h("p", {}, `Cells: ${counted(DATA.cells.map((cell) => cell.status))}. Claims: ${counted(DATA.claims.map((claim) => claim.verdict))}.`),
    ...heat(at),
    h("h2", {}, "Without a result"),
    ...(bad.length ? [table("Cells without a result, and why", [
      ["Workload", (cell) => cellLink(cell.title, cell)],
      ["Framework", (cell) => title(cell.framework)], ["Device", (cell) => cell.device], ["Status", statusOf],
    ], bad, shown), pager] : [h("p", {}, "Every cell has one.")]),
  ];
}
