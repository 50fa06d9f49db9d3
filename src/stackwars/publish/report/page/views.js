const audits = (at) => [
  h("h2", {}, "Audits"),
  DATA.audits.length ? table("Attempts to break the harness", [
    ["Audit", "title"], "Verdict", ["What it should show", "aim", "wide"], ["Figures", "detail"],
  ], DATA.audits.filter((audit) => !at.parts[1] || audit.id === at.parts[1])) : h("p", {}, "This run has no audits: make audits."),
  at.parts[1] ? h("p", {}, link("All audits", ["audits"])) : h("p", {}, DATA.checks),
];

// The claims that a workload votes on, or all.
const claimsOf = (workload) => DATA.claims.filter((claim) => !workload || (claim.workloads || []).includes(workload));

const claims = (at) => [
  h("h2", {}, "Claims"),
  h("p", {}, "What the data say to each claim of the original paper and of this one."), h("p", {}, "Whether a verdict changed from the reference to this run: ", link("this run and the reference", ["against"]), "."),
  h("div", { class: "bar" }, choice("workload", [["", "all"], ...unique(DATA.claims.flatMap((claim) => claim.workloads || [])).map((name) => [name, titleOf(name)])], at.query.get("workload") || "",
    (value) => go(at, { workload: value })), filters(DATA.claims, at, "verdict", "origin", "confirmed"), searchBox(at)),
  table("Every claim, its verdict and the evidence", [
    ["Claim", (claim) => link(claim.sentence, ["claim", claim.id]), "wide"], ["Origin", "origin"],
    "Verdict", ["Explored or confirmed", "confirmed"], ["Votes for it", "margin"], ["Evidence", "evidence"],
  ], matching(wanted(claimsOf(at.query.get("workload")), at, "verdict", "origin", "confirmed"), at, (claim) => [claim.id, claim.sentence, claim.verdict, claim.evidence].join(" "))),
  h("p", {}, DATA.claims_changed),
];

// One claim: the rows that vote on it, each with the view that shows it.
async function claim(at) {
  const shown = DATA.claims.find((one) => one.id === at.parts[1]);
  if (!shown) return [h("h2", {}, at.parts[1] || "Claim"), h("p", {}, "There is no such claim."), h("p", {}, link("All claims", ["claims"]))];
  const votes = await unpack(shown.votes);
  return [
    h("h2", {}, shown.sentence),
    h("p", {}, `${sentence([shown.verdict, shown.confirmed, shown.margin].filter(Boolean).join(", "))}${shown.evidence ? `: ${shown.evidence}` : ""}.`),
    votes.length ? origin(shown.study) : null,
    votes.length ? table("Every vote, and what it rests on", [
      ["Of", (vote) => (vote.workload ? whyLink(vote.workload, vote.title || titleOf(vote.workload)) : vote.title)], ["Vote", "vote"], ["What it says", "word"],
      ["Number", "number"], ["Evidence", (vote) => evidenceOf(vote, shown)],
    ], votes) : h("p", {}, "Nothing votes on it."),
    h("p", {}, link("All claims", ["claims"])),
  ];
}

// The view that shows the row of a vote.
function evidenceOf(vote, { table: from, study }) {
  const filter = (...names) => [["study", study], ...names.map((name) => [name, vote[name]])];
  if (from === "comparisons") return link("comparison", ["comparisons"], filter("quantity", "workload", "subject", "device", "compiler", "variant"));
  if (from === "cells") return cellLink("cell", { study, ...vote });
  if (from === "causes") return link("cause", ["causes"], [["workload", vote.workload], ["compiler", vote.compiler]]);
  if (from === "programs" && vote.target) return link("compiled program", ["compiled"], filter("workload", "framework", "target", "compiler", "variant"));
  if (from === "programs") return link("program", ["programs", vote.workload]);
  return link("matrix", ["start"], filter("workload"));
}

const VIEWS = { start: ["Start", start], why: ["Why", why], causes: ["Causes", causes], releases: ["Releases", releases], explained: ["Explained", explained],
  programs: ["Programs", programs], timeline: ["Timeline", timeline], values: ["Values", values], compiled: ["Memory", compiled],
  claims: ["Claims", claims], claim: [null, claim], audits: ["Audits", audits], against: ["Run and reference", against],
  comparisons: ["Comparisons", comparisons], cells: ["Cells", cells], cell: [null, cell], replay: [null, replay] };
// The first view of each group of the navigation, in the order of VIEWS.
const GROUPS = { start: "Who and why", programs: "What is compiled", claims: "What is claimed", comparisons: "Every number" };
const WITHIN = { cell: "cells", replay: "cells", claim: "claims" };
// Which views are of one workload, and where its name stands in the address; the others have it as a filter.
const NAMED = { cell: 4, replay: 5, why: 1, programs: 1, timeline: 1 };
const OF_A_WORKLOAD = ["why", "cells", "values", "comparisons", "causes", "programs", "timeline", "compiled", "releases", "explained", "claims"];
let requests = 0, path = null;

function hasView(view, workload) {
  if (view === "claims") return claimsOf(workload).length > 0;
  if (view === "why") return workload in DATA.why;
  const { programs, timeline, releases, causes, explained } = DATA, rows = { programs, timeline: timeline.calls, releases, causes, explained }[view] || DATA.cells;
  return rows.some((one) => one.workload === workload);
}

const ofWorkload = (view, workload) => (NAMED[view] ? address([view, workload]) : address([view], [["workload", workload]]));

// The address of a view for the workload that is looked at, if the view has it.
function carried(view, at) {
  // An answer of make explain about a workload has its name.
  const workload = at.parts[{ ...NAMED, explained: 1 }[at.parts[0]]] || at.query.get("workload");
  return workload && OF_A_WORKLOAD.includes(view) && hasView(view, workload) ? ofWorkload(view, workload) : address([view]);
}

// The links to the views, in groups with their names.
function groupedLinks(name, at) {
  const groups = [];
  for (const [key, [text]] of Object.entries(VIEWS)) {
    if (GROUPS[key]) groups.push(h("div", { role: "group", "aria-label": GROUPS[key] }, h("small", {}, GROUPS[key])));
    if (text) groups.at(-1).append(h("a", { href: carried(key, at), "aria-current": key === (WITHIN[name] || name) ? "page" : null }, text));
  }
  return groups;
}

// Columns that do not fit into the width that there is are folded, also in what is opened later. All tables are measured before
// one is drawn: the browser lays the page out once.
const fit = () => some([...MAIN.querySelectorAll(".scroll")].map((one) => one.fitting?.())).forEach((draw) => draw());
MAIN.addEventListener("toggle", fit, true);

async function show() {
  await loaded;
  const at = place(), turn = ++requests;
  const name = VIEWS[at.parts[0]] ? at.parts[0] : "start";
  const content = some(await VIEWS[name][1](at));
  // Another view was requested while this one was unpacked.
  if (turn !== requests) return;
  const held = document.activeElement?.dataset?.name;
  document.getElementById("views").replaceChildren(...groupedLinks(name, at));
  MAIN.replaceChildren(...content);
  fit();
  performance.mark("drawn");
  document.title = `Stack Wars: ${MAIN.querySelector("h2").textContent}`;
  const control = held && MAIN.querySelector(`[data-name="${CSS.escape(held)}"]`);
  const moved = path !== null && path !== at.parts.join("/");
  if (control) control.focus({ preventScroll: true });
  else if (moved) MAIN.focus({ preventScroll: true });
  if (moved && !control) window.scrollTo(0, 0);
  path = at.parts.join("/");
  MAIN.querySelector("[data-selected]")?.scrollIntoView({ block: "center" });
}

// Its own fragment would be taken for a view.
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); MAIN.focus(); });
window.addEventListener("hashchange", show);
// Plots are drawn for the width that there is.
let drawnFor = window.innerWidth, waiting = null;
window.addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => { if (window.innerWidth !== drawnFor) { drawnFor = window.innerWidth; show(); } }, 200);
});
show();
