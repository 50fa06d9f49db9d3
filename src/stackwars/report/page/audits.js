const audits = (at) => [
  h("h2", {}, "Audits"),
  DATA.audits.length ? table("What the harness was tried with", [
    ["Audit", (audit) => audit.title], ["Verdict", (audit) => audit.verdict], ["What it is to show", (audit) => audit.aim, "wide"], ["What came", (audit) => audit.detail],
  ], DATA.audits.filter((audit) => !at.parts[1] || audit.id === at.parts[1])) : h("p", {}, "This run has no audits: make audits."),
  at.parts[1] ? h("p", {}, link("All audits", ["audits"])) : null,
];
