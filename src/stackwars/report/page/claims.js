const claims = (at) => {
  const rows = DATA.claims.filter(wanted(at, "verdict", "origin"));
  return [
    h("h2", {}, "Claims"),
    h("div", { class: "bar" }, filtered(at, "verdict", DATA.claims.map((claim) => claim.verdict)),
      filtered(at, "origin", DATA.claims.map((claim) => claim.origin))),
    table("Every claim, its verdict and the evidence", [
      ["Claim", (claim) => link(claim.sentence, ["claim", claim.id]), "wide"], ["Origin", (claim) => claim.origin],
      ["Verdict", (claim) => claim.verdict], ["Evidence", (claim) => claim.evidence],
    ], rows),
  ];
};

// One claim: what decides it, and every vote with the views that show what it rests on.
function claim(at) {
  const found = DATA.claims.find((one) => one.id === at.parts[1]);
  if (!found) return [h("h2", {}, at.parts[1] || "Claim"), h("p", {}, "There is no such claim."), h("p", {}, link("All claims", ["claims"]))];
  const evidence = (vote) => (vote.links.length ? h("span", {}, vote.links.flatMap(([text, fragment], place) =>
    [place ? ", " : "", h("a", { href: `#${fragment}` }, text)])) : vote.elsewhere || "no view of this report shows it");
  return [
    h("h2", {}, found.sentence),
    h("p", {}, `${found.verdict[0].toUpperCase()}${found.verdict.slice(1)}${found.evidence ? `: ${found.evidence}` : ""}.`),
    h("p", {}, found.rule),
    found.votes.length ? table("Every vote, and what it rests on", [
      ["Of", (vote) => vote.title], ["Vote", (vote) => vote.vote], ["What it says", (vote) => vote.word],
      ["Number", (vote) => vote.number], ["Evidence", evidence], ["Finding", (vote) => vote.finding],
    ], found.votes) : h("p", {}, "Nothing in this run votes on it."),
    h("p", {}, link("All claims", ["claims"])),
  ];
}
