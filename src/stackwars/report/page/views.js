const VIEWS = { start: ["Start", start], cells: ["Cells", cells], cell: [null, cell], replay: [null, replay], comparisons: ["Comparisons", comparisons],
  programs: ["Programs", programs], timeline: ["Timeline", timeline], compiled: ["Compiled", compiled], claims: ["Claims", claims],
  claim: [null, claim], audits: ["Audits", audits] };
const WITHIN = { cell: "cells", replay: "cells", claim: "claims" };
// Which views are of one workload, and where its name stands in the address.
const NAMED = { cell: 4, replay: 5, programs: 1, timeline: 1 };
let requests = 0, path = null;

const hasView = (view, workload) => ({ programs: DATA.programs, timeline: DATA.timeline.calls }[view] || DATA.cells).some((one) => one.workload === workload);

// The address of a view for the workload that is looked at, if the view has it.
function carried(view, at) {
  const workload = at.parts[NAMED[at.parts[0]]] || at.query.get("workload");
  if (view === "start" || !workload || !hasView(view, workload)) return address([view]);
  return NAMED[view] ? address([view, workload]) : ["cells", "comparisons", "compiled"].includes(view) ? address([view], [["workload", workload]]) : address([view]);
}

async function show() {
  const at = place(), turn = ++requests;
  const name = VIEWS[at.parts[0]] ? at.parts[0] : "start";
  const content = some(await VIEWS[name][1](at));
  // Another view was requested while this one was unpacked.
  if (turn !== requests) return;
  const held = document.activeElement?.dataset?.name;
  document.getElementById("views").replaceChildren(...Object.entries(VIEWS).filter(([, [text]]) => text).map(([key, [text]]) =>
    h("a", { href: carried(key, at), "aria-current": key === (WITHIN[name] || name) ? "page" : null }, text)));
  MAIN.replaceChildren(...content);
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
show();
