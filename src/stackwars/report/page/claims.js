const claims = (at) => [
  h("h2", {}, "Claims"),
  h("div", { class: "bar" }, filters(DATA.claims, at, "verdict", "origin")),
  table("Every claim, its verdict and the evidence", filled([
    ["Claim", (claim) => link(claim.sentence, ["claim", claim.id]), "wide"], ["Origin", (claim) => claim.origin],
    ["Verdict", (claim) => claim.verdict], ["Votes for it", (claim) => claim.margin], ["Evidence", (claim) => claim.evidence],
  ], DATA.claims), wanted(DATA.claims, at, "verdict", "origin")),
];

// One claim: the rows that vote on it, each with the view that shows it.
async function claim(at) {
  const shown = DATA.claims.find((one) => one.id === at.parts[1]);
  if (!shown) return [h("h2", {}, at.parts[1] || "Claim"), h("p", {}, "There is no such claim."), h("p", {}, link("All claims", ["claims"]))];
  const votes = await unpack(shown.votes);
  return [
    h("h2", {}, shown.sentence),
    h("p", {}, `${sentence([shown.verdict, shown.margin].filter(Boolean).join(", "))}${shown.evidence ? `: ${shown.evidence}` : ""}.`),
    votes.length && shown.table !== "audits" ? origin(shown.study) : null,
    votes.length ? table("Every vote, and what it rests on", filled([
      ["Of", (vote) => vote.title], ["Vote", (vote) => vote.vote], ["What it says", (vote) => vote.word],
      ["Number", (vote) => vote.number], ["Evidence", (vote) => evidenceOf(vote, shown)],
    ], votes), votes) : h("p", {}, "Nothing votes on it."),
    h("p", {}, link("All claims", ["claims"])),
  ];
}

// The view that shows the row of a vote.
function evidenceOf(vote, { table: from, study }) {
  const filter = (...names) => [["study", study], ...names.map((name) => [name, vote[name]])], mode = vote.mode || "native";
  if (from === "comparisons") return link("comparison", ["comparisons"], filter("quantity", "workload", "subject", "device", "compiler", "variant"));
  if (from === "cells" && vote.framework && mode === "native") return cellLink("cell", { study, ...vote });
  if (from === "cells" && vote.framework && mode === "replay") return link("replay", replayParts({ study, ...vote }));
  if (from === "cells") return link("cells", ["cells"], filter("mode", "workload", "framework", "device", "size"));
  if (from === "programs" && vote.target) return link("compiled program", ["compiled"], filter("workload", "framework", "target", "compiler", "variant"));
  if (from === "programs") return link("program", ["programs", vote.workload]);
  return from === "effects" ? link("matrix", ["start"], filter("workload")) : link("audit", ["audits", vote.id]);
}
