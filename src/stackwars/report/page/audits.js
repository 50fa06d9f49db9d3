const audits = (at) => [
  h("h2", {}, "Audits"),
  DATA.audits.length ? table("Attempts to break the harness", [
    ["Audit", (audit) => audit.title], ["Verdict", (audit) => audit.verdict], ["What it should show", (audit) => audit.aim, "wide"], ["Figures", (audit) => audit.detail],
  ], DATA.audits.filter((audit) => !at.parts[1] || audit.id === at.parts[1])) : h("p", {}, "This run has no audits: make audits."),
  at.parts[1] ? h("p", {}, link("All audits", ["audits"])) : null,
];
