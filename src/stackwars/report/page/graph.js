const KINDS = { argument: "argument", constant: "constant", compute: "elementwise", layout: "layout", product: "product", reduction: "reduction", result: "result", block: "further blocks" };

// One program as Graphviz's dot has placed it.
async function graph(at) {
  if (!DATA.graphs.length) return [h("h2", {}, "Graph"), h("p", {}, "This run has no program to draw.")];
  const one = DATA.graphs.find((found) => found.workload === at.parts[1] && (!at.parts[2] || found.framework === at.parts[2])) || DATA.graphs[0];
  const here = { parts: ["graph", one.workload, one.framework], query: at.query };
  const profiled = callsOf(one.workload, one.framework);
  const cost = profiled.find((call) => call.compiler === at.query.get("compiler")) || profiled[0];
  const same = DATA.graphs.filter((found) => found.workload === one.workload);
  const unfolded = one.unfolded && at.query.get("blocks") === "all";
  const head = [
    h("h2", {}, `Graph: ${one.title}, ${title(one.framework)}`),
    h("div", { class: "bar" },
      choice("Workload", unique(DATA.graphs.map((found) => found.workload)).map((name) => [name, titleOf(name)]), one.workload, (value) => { location.hash = address(["graph", value], at.query); }),
      choice("Program", same.map((found) => [found.framework, title(found.framework)]), one.framework,
        (value) => { location.hash = address(["graph", one.workload, value], at.query); }),
      cost ? choice("Cost in", profiled.map((call) => [call.compiler, call.compiler]), cost.compiler, (value) => go(here, { compiler: value })) : null,
      one.unfolded ? choice("Blocks that repeat", [["", "folded"], ["all", "all drawn"]], unfolded ? "all" : "", (value) => go(here, { blocks: value })) : null),
  ];
  if (!one.graph) return [...head, h("p", {}, one.reason)];
  const drawn = await unpack(unfolded ? one.unfolded : one.graph);
  const map = drawGraph(drawn, cost, `${one.title}, ${title(one.framework)}: ${drawn.nodes.length} boxes`, one.unfolded ? () => go(here, { blocks: "all" }) : null);
  return [...head,
    h("p", {}, "The normalised program. Below each operation: the shape of its result (f32 where no type is named); the lines of one box are consecutive steps. " +
      (cost ? `A darker box is of a class that takes more of a call in ${cost.compiler}: ${told(cost)}. Time is known by class, not for a box alone. `
        : "No profile of this program is in the report, so no box is coloured by cost. ") + one.note),
    h("div", { class: "bar" }, ...map.buttons, " Drag to move; with the drawing in focus: arrow keys move it, + and - or the wheel zoom, 0 shows all."),
    map.frame,
  ];
}

const told = (cost) => Object.entries(cost.parts).filter(([, { share }]) => share >= 0.005)
  .map(([kind, { share }]) => `${DATA.timeline.classes[kind].title} ${percent(share)}`).join(", ");

// unfold: what a click on a folded block does.
function drawGraph({ width, height, nodes, edges }, cost, label, unfold) {
  const frame = s("svg", { class: "graph", role: "img", tabindex: 0, "aria-label": label });
  frame.append(s("defs", {}, s("marker", { id: "head", viewBox: "0 0 6 6", refX: 6, refY: 3, markerWidth: 5, markerHeight: 5, orient: "auto" },
    s("path", { d: "M0 0 L6 3 L0 6 z", fill: "#333" }))));
  for (const { points } of edges) {
    const [first, ...rest] = points;
    frame.append(s("path", { d: `M${first} C${rest.join(" ")}`, fill: "none", stroke: "#333", "stroke-width": 0.7, "marker-end": "url(#head)" }));
  }
  for (const node of nodes) {
    const share = cost && node.class ? cost.parts[node.class].share : null;
    const { background, ink } = share === null ? { background: "#fff", ink: "#000" } : shade(share);
    const left = node.x - node.width / 2, top = node.y - node.height / 2, line = node.height / node.lines.length;
    const box = s("rect", { x: left, y: top, width: node.width, height: node.height, rx: node.kind === "block" ? 8 : node.kind === "argument" || node.kind === "result" ? 5 : 0,
      fill: background, stroke: "#333", "stroke-width": node.block ? 1.4 : 0.7, "stroke-dasharray": node.kind === "block" ? "4 2" : null });
    const group = s("g", {}, s("title", {}, `${KINDS[node.kind]}${node.kind === "block" && unfold ? ": click to draw them all" : ""}${node.block ? `, of the block that repeats (${node.block})` : ""}`), box,
      node.lines.map((text, at) => s("text", { x: node.x, y: top + line * (at + 0.5) + 3, "text-anchor": "middle", style: `fill: ${ink}` }, text)));
    if (node.kind === "block" && unfold) {
      group.setAttribute("class", "fold");
      group.addEventListener("click", unfold);
    }
    frame.append(group);
  }
  // Last, so that no box hides them.
  for (const { points, operand } of edges) {
    if (operand) frame.append(s("text", { class: "operand", x: points.at(-1)[0] + 4, y: points.at(-1)[1] - 3 }, String(operand)));
  }
  const top = nodes.reduce((highest, node) => (node.y < highest.y ? node : highest));
  return { frame, buttons: movable(frame, width, height, top.x) };
}

// Zoom and pan by pointer and keyboard; returns buttons that do the same. begin: where the topmost box is.
function movable(frame, width, height, begin) {
  const all = [-8, -8, width + 16, height + 16], least = 40, most = Math.max(4 * all[2], 1600);
  let view = [...all];
  const see = (next) => { view = next; frame.setAttribute("viewBox", view.join(" ")); };
  const zoom = (by, [px, py] = [0.5, 0.5]) => {
    const wide = Math.min(Math.max(view[2] * by, least), most), ratio = wide / view[2];
    see([view[0] + px * view[2] * (1 - ratio), view[1] + py * view[3] * (1 - ratio), wide, view[3] * ratio]);
  };
  const move = (dx, dy) => see([view[0] + dx, view[1] + dy, view[2], view[3]]);
  // At first from the top, at a size that reads: a program of a hundred layers is not legible as a whole.
  const wide = Math.min(Math.max(all[2], 800), 1600);
  see([all[2] > wide ? Math.max(all[0], begin - wide / 2) : all[0] - (wide - all[2]) / 2, all[1], wide, Math.min(all[3], wide / 2)]);
  const acts = { "+": () => zoom(0.8), "=": () => zoom(0.8), "-": () => zoom(1.25), 0: () => see([...all]),
    ArrowLeft: () => move(-view[2] / 10, 0), ArrowRight: () => move(view[2] / 10, 0),
    ArrowUp: () => move(0, -view[3] / 10), ArrowDown: () => move(0, view[3] / 10) };
  frame.addEventListener("keydown", (event) => {
    if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    acts[event.key]();
  });
  frame.addEventListener("wheel", (event) => {
    if (document.activeElement !== frame) return;
    event.preventDefault();
    const box = frame.getBoundingClientRect();
    zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height]);
  }, { passive: false });
  frame.addEventListener("pointerdown", () => frame.focus({ preventScroll: true }));
  frame.addEventListener("pointermove", (event) => {
    // Not captured before it moves: a captured pointer clicks on nothing inside.
    if (event.buttons === 1 && Math.abs(event.movementX) + Math.abs(event.movementY) > 1) frame.setPointerCapture(event.pointerId);
    if (!frame.hasPointerCapture(event.pointerId)) return;
    const box = frame.getBoundingClientRect(), unit = Math.max(view[2] / box.width, view[3] / box.height);
    move(-event.movementX * unit, -event.movementY * unit);
  });
  return [["Closer", "+"], ["Further", "-"], ["All", "0"]].map(([text, key]) => h("button", { type: "button", click: acts[key] }, text));
}
