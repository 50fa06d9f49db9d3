const audits = (at) => {
  const { where, tried } = DATA.faults, survived = tried.filter((fault) => fault.outcome === "survived");
  return [
    h("h2", {}, "Audits"),
    DATA.audits.length ? table("What the harness was tried with", [
      ["Audit", (audit) => audit.title], ["Verdict", (audit) => audit.verdict], ["What it is to show", (audit) => audit.aim, "wide"], ["What came", (audit) => audit.detail],
    ], DATA.audits.filter((audit) => !at.parts[1] || audit.id === at.parts[1])) : h("p", {}, "This run has no audits: make audits."),
    at.parts[1] ? h("p", {}, link("All audits", ["audits"])) : null,
    ...(at.parts[1] ? [] : [
      h("h2", {}, "Faults"),
      ...(tried.length ? [
        h("p", {}, `Injected into copies of a smoke run, ${where}: ${survived.length} of ${tried.length} survived. Lost: finished numbers gone after the fault or the recovery. ` +
          "Wrong: numbers shown that were not those on disk, or not valid. Told: the line by which the user knows."),
        table("What was broken, and what came of it", [
          ["Fault", (fault) => fault.title, "wide"], ["Outcome", (fault) => fault.outcome],
          ["Lost", (fault) => (fault.outcome === "not tried" ? "" : String(fault.lost)), "number"], ["Wrong", (fault) => (fault.outcome === "not tried" ? "" : String(fault.wrong)), "number"],
          ["Told", (fault) => (fault.told || fault.why).replace(/^\[stackwars\]\s*/, "")],
        ], tried)] : [h("p", {}, "No fault was injected: make faults.")]),
    ]),
  ];
};
