// What differs between this run and the reference: changed verdicts, then ratios that were not expected, then statuses.
function against() {
  const found = DATA.against, head = h("h2", {}, "This run and the reference");
  if (!found) return [head, h("p", {}, DATA.meta.origin === "reference" ? "This report is of the reference itself." : DATA.reproduction || "This run was not compared with the reference."),
    missing("A run of yours, compared with the reference as text and in one page:", "make compare RUN=results/full")];
  const [claims, ratios, cells] = found.counts, [own, others] = found.machines;
  return [head, h("p", {}, found.summary), h("p", {}, `The machine of this run: ${own}. Of the reference: ${others.join("; ")}.`),
    found.untested ? h("p", {}, `${found.untested} claims are not testable in this run.`) : null,
    found.claims.length ? table(`${found.claims.length} of ${claims} claims have another verdict, on the rows that both have`, [
      ["Claim", (one) => link(one.sentence, ["claim", one.id]), "wide"], ["In the reference", (one) => one.reference], ["Here", (one) => one.run], ["What became of it", (one) => one.outcome],
    ], found.claims) : h("p", {}, claims ? `Of ${claims} claims, all that this run tests have the verdict that they have in the reference.` : "No claim is compared: the sizes differ from the reference's."),
    found.ratios.length ? table(`${found.ratios.length} of ${ratios} ratios differ: outside the prediction interval of this kind of machine, or with another direction`, filled([
      ["Workload", (one) => whyLink(one.workload)], ["Quantity", (one) => one.quantity], ["Subject", (one) => title(one.subject)], ["Over", (one) => title(one.baseline)],
      ["Device", (one) => one.device], ["Compiler", (one) => one.compiler, "keep"], ["Here", (one) => number(one.run), "number"], ["Reference", (one) => number(one.reference), "number"],
      ["Expected", (one) => (one.predicted ? interval(...one.predicted) : ""), "keep"],
    ], found.ratios), found.ratios) : h("p", {}, `None of ${ratios} ratios lies where the reference does not expect it.`),
    found.cells.length ? table(`${found.cells.length} of ${cells} cells ended otherwise`, [
      ["Workload", (one) => whyLink(one.workload)], ["Framework", (one) => title(one.framework)], ["Device", (one) => one.device], ["Reference", (one) => one.reference], ["Here", (one) => one.run],
    ], found.cells) : h("p", {}, `All ${cells} cells ended as in the reference.`),
  ];
}
