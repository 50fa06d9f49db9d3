const statusOf = (cell) => (cell.status === "ok" ? "ok" : `${cell.status}: ${cell.status_detail || ""}`);

const counted = (values) => unique(values).map((one) => `${values.filter((value) => value === one).length} ${one}`).join(", ");

function start(at) {
  const machine = DATA.meta.machine || {};
  const bad = DATA.cells.filter((cell) => cell.status !== "ok" && cell.status !== "not run");
  const { shown, pager } = paged(bad, at, 50);
  return [
    h("h2", {}, "This run"),
    h("p", {}, `${DATA.meta.origin === "reference" ? "The reference" : "Measured here"}, preset ${DATA.meta.preset}, ` +
      `last process started ${DATA.meta.date_utc}, revision ${DATA.meta.git_revision}. ` +
      `${machine.cpu_model}, ${machine.cores} cores, ${number((machine.memory_bytes || 0) / 2 ** 30)} GiB, ${machine.os}.`),
    h("p", {}, `Cells: ${counted(DATA.cells.map((cell) => cell.status))}. Claims: ${counted(DATA.claims.map((claim) => claim.verdict))}.`),
    ...answer(),
    ...heat(at),
    ...notRun(),
    h("h2", {}, "Without a result"),
    ...(bad.length ? [table("Cells that were run and have no result, and why", [
      ["Workload", (cell) => cellLink(cell.title, cell)],
      ["Framework", (cell) => title(cell.framework)], ["Device", (cell) => cell.device], ["Status", statusOf],
    ], bad, shown), pager] : [h("p", {}, "Every cell that was run has one.")]),
  ];
}

function answer() {
  const found = DATA.answers.map((id) => DATA.claims.find((claim) => claim.id === id)).filter(Boolean);
  return [
    h("h2", {}, "The answer"),
    found.length ? h("ul", {}, found.map((claim) => h("li", {}, link(claim.sentence, ["claim", claim.id]), " ",
      h("strong", {}, `${claim.verdict[0].toUpperCase()}${claim.verdict.slice(1)}`), claim.evidence ? `: ${claim.evidence}.` : "."))) : h("p", {}, "This run decides none of the claims that answer the question."),
    h("p", {}, DATA.reproduction || (DATA.meta.origin === "reference" ? "This is the reference itself: there is no other run that it is compared with."
      : "This run was not compared with the reference.")),
  ];
}

// Of what was not run a line for each device and reason.
function notRun() {
  const groups = new Map();
  for (const cell of DATA.cells.filter((one) => one.status === "not run")) {
    const key = JSON.stringify([cell.device, cell.status_detail]);
    groups.set(key, [...(groups.get(key) || []), cell]);
  }
  const lines = [...groups].map(([key, cells]) => {
    const [device, reason] = JSON.parse(key);
    return h("li", {}, link(`${cells.length} cells on ${device}`, ["cells"], [["device", device], ["status", "not run"]]), `: ${reason === "no result" ? "no result in this run" : reason || "no reason was kept"}`);
  });
  return [h("h2", {}, "Not run"), lines.length ? h("ul", {}, lines) : h("p", {}, "Every cell was run.")];
}
