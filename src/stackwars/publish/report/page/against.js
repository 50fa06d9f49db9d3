// What differs between this run and the reference: changed verdicts, then ratios that were not expected, then statuses.
async function against() {
  const head = h("h2", {}, "This run and the reference");
  if (!DATA.against) return [head, h("p", {}, DATA.meta.origin === "reference" ? "This report is of the reference itself." : DATA.reproduction || "This run was not compared with the reference."),
    missing("A run of yours, compared with the reference as text and in one page:", "make compare RUN=results/full")];
  const found = await unpack(DATA.against), tested = found.claims.filter((one) => one.run !== "not testable here"), untested = found.claims.length - tested.length;
  const claims = tested.filter((one) => one.run !== one.reference).sort((a, b) => (b.outcome === "not reproduced") - (a.outcome === "not reproduced"));
  // By what factor a ratio lies outside its prediction interval, or off the reference's without one.
  const beyond = ({ run, reference, predicted }) => { const [low, high] = predicted || [reference, reference]; return Math.max(low / run, run / high); };
  const ratios = found.ratios.filter((one) => one.inside === false || one.same_side === false).sort((a, b) => beyond(b) - beyond(a));
  const cells = found.cells.filter((one) => one.run !== one.reference);
  return [head, h("p", {}, found.summary), h("p", {}, `The machine of this run: ${found.run.machine}. Of the reference: ${found.reference.machines.join("; ")}.`),
    untested ? h("p", {}, `${untested} claims are not testable in this run.`) : null,
    claims.length ? table(`${claims.length} of ${found.claims.length} claims have another verdict, on the rows that both have`, [
      ["Claim", (one) => link(one.sentence, ["claim", one.id]), "wide"], ["In the reference", "reference"], ["Here", "run"], ["What became of it", "outcome"],
    ], claims) : h("p", {}, found.claims.length ? `Of ${found.claims.length} claims, all that this run tests have the verdict that they have in the reference.` : "No claim is compared: the sizes differ from the reference's."),
    ratios.length ? table(`${ratios.length} of ${found.ratios.length} ratios differ: outside the prediction interval of this kind of machine, or with another direction`, [
      "Workload", ["Quantity", "quantity"], ["Subject", (one) => title(one.subject)], ["Over", (one) => title(one.baseline)],
      "Device", "Compiler", ["Here", "run", "digits"], ["Reference", "reference", "digits"],
      ["Expected", (one) => (one.predicted ? interval(...one.predicted) : ""), "keep"],
    ], ratios) : h("p", {}, `None of ${found.ratios.length} ratios lies where the reference does not expect it.`),
    cells.length ? table(`${cells.length} of ${found.cells.length} cells ended otherwise`, [
      "Workload", "Framework", "Device", ["Reference", "reference"], ["Here", "run"],
    ], cells) : h("p", {}, `All ${found.cells.length} cells ended as in the reference.`),
  ];
}
