const VIEWS = { start: ["Start", start], cells: ["Cells", cells], cell: [null, cell], replay: [null, replay], comparisons: ["Comparisons", comparisons],
  programs: ["Programs", programs], graph: ["Graph", graph], timeline: ["Timeline", timeline], claims: ["Claims", claims],
  claim: [null, claim], audits: ["Audits", audits] };
const WITHIN = { cell: "cells", replay: "start", claim: "claims" };
let asked = 0, path = null;

async function show() {
  const at = place(), turn = ++asked;
  const name = VIEWS[at.parts[0]] ? at.parts[0] : "start";
  const made = some(await VIEWS[name][1](at));
  // Another view was asked for while this one was unpacked.
  if (turn !== asked) return;
  const held = document.activeElement?.dataset?.name;
  document.getElementById("views").replaceChildren(...Object.entries(VIEWS).filter(([, [text]]) => text).map(([key, [text]]) =>
    h("a", { href: `#${key}`, "aria-current": key === (WITHIN[name] || name) ? "page" : null }, text)));
  MAIN.replaceChildren(...made);
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
