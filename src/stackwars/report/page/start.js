const statusOf = (cell) => (cell.status === "ok" ? "ok" : [cell.status, cell.status_detail].filter(Boolean).join(": "));
const clipped = (text) => (text.length > 160 ? `${text.slice(0, 160)} ...` : text);

const counted = (values) => unique(values).map((one) => `${values.filter((value) => value === one).length} ${one}`).join(", ");

function start(at) {
  const machine = DATA.meta.machine || {}, isReference = DATA.meta.origin === "reference";
  return [
    h("h2", {}, isReference ? "The reference" : "This run"),
    h("p", {}, `${isReference ? `Its newest whole run, ${DATA.raw_run}, whose raw calls this report has: preset` : "Preset"} ${DATA.meta.preset}, ` +
      `last process started ${DATA.meta.date_utc}, revision ${DATA.meta.git_revision}. ` +
      `${machine.cpu_model}, ${machine.cores} cores, ${number((machine.memory_bytes || 0) / 2 ** 30)} GiB, ${machine.os}.`),
    ...answer(),
    table("What is in this report", [["Study", ([name]) => name], ["Where it is from", ([, { origin: from }]) => from], ["Cells", ([name]) => modesOf(name)]],
      Object.entries(DATA.studies).filter(([name]) => modesOf(name).textContent)),
    ...heat(at),
    ...notRun(),
  ];
}

function modesOf(study) {
  const rows = DATA.cells.filter((row) => row.study === study && row.status !== "not run");
  const links = unique(rows.map((row) => row.mode)).map((mode) =>
    link(`${mode}: ${counted(rows.filter((row) => row.mode === mode).map((row) => row.status))}`, ["cells"], [["study", study], ["mode", mode]]));
  const { compiled: count } = DATA.studies[study];
  return h("span", {}, listOf(count ? [...links, link(`compiled for targets: ${count}`, ["compiled"], [["study", study]])] : links));
}

function answer() {
  const found = DATA.answers.map((id) => DATA.claims.find((claim) => claim.id === id)).filter(Boolean);
  return [
    h("h2", {}, "The answer"),
    found.length ? h("ul", {}, found.map((claim) => h("li", {}, link(claim.sentence, ["claim", claim.id]), " ",
      h("strong", {}, sentence(claim.verdict)), claim.evidence ? `: ${claim.evidence}.` : "."))) : h("p", {}, "This run decides none of the claims that answer the question."),
    h("p", {}, `Claims: ${counted(DATA.claims.map((claim) => claim.verdict))}. `, DATA.reproduction || (DATA.meta.origin === "reference" ? "" : "This run was not compared with the reference.")),
  ];
}

// Of what was not run a line for each device and reason.
function notRun() {
  const absent = DATA.cells.filter((cell) => cell.status === "not run"), why = (cell) => `${cell.device}: ${cell.status_detail || "no reason was kept"}`;
  return [h("h2", {}, "Not run"), absent.length ? h("ul", {}, unique(absent.map(why)).map((text) => {
    const same = absent.filter((cell) => why(cell) === text);
    return h("li", {}, `${same.length} cells on `, text, " (", listOf(unique(same.map((cell) => cell.study)).map((study) =>
      link(study, ["cells"], [["study", study], ["device", same[0].device], ["status", "not run"]]))), ")");
  })) : h("p", {}, "Every cell was run.")];
}
