const KINDS = { argument: "argument", constant: "constant", compute: "elementwise", layout: "layout", product: "product", reduction: "reduction", result: "result", block: "further blocks" };

// One program as Graphviz's dot has placed it.
async function graph(at) {
  if (!DATA.graphs.length) return [h("h2", {}, "Graph"), h("p", {}, "This run has no program to draw.")];
  const one = DATA.graphs.find((found) => found.workload === at.parts[1] && (!at.parts[2] || found.framework === at.parts[2])) || DATA.graphs[0];
  const here = { parts: ["graph", one.workload, one.framework], query: at.query };
  const profiled = DATA.timeline.calls.filter((call) => call.workload === one.workload && call.framework === one.framework);
  const cost = profiled.find((call) => call.compiler === at.query.get("compiler")) || profiled[0];
  const titles = Object.fromEntries(DATA.graphs.map((found) => [found.workload, found.title]));
  const same = DATA.graphs.filter((found) => found.workload === one.workload);
  const head = [
    h("h2", {}, `Graph: ${one.title}, ${title(one.framework)}`),
    h("div", { class: "bar" },
      choice("Workload", Object.entries(titles), one.workload, (value) => { location.hash = address(["graph", value], at.query); }),
      choice("Program", same.map((found) => [found.framework, title(found.framework)]), one.framework,
        (value) => { location.hash = address(["graph", one.workload, value], at.query); }),
      cost ? choice("Cost in", profiled.map((call) => [call.compiler, call.compiler]), cost.compiler, (value) => go(here, { compiler: value })) : null),
  ];
  if (!one.graph) return [...head, h("p", {}, one.reason)];
  const drawn = await unpack(one.graph);
  const map = drawGraph(drawn, cost, `${one.title}, ${title(one.framework)}: ${drawn.nodes.length} boxes`);
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

function drawGraph({ width, height, nodes, edges }, cost, label) {
  const frame = s("svg", { class: "graph", role: "img", tabindex: 0, "aria-label": label });
  frame.append(s("defs", {}, s("marker", { id: "head", viewBox: "0 0 6 6", refX: 6, refY: 3, markerWidth: 5, markerHeight: 5, orient: "auto" },
    s("path", { d: "M0 0 L6 3 L0 6 z", fill: "#333" }))));
  for (const { points, operand } of edges) {
    const [first, ...rest] = points;
    frame.append(s("path", { d: `M${first} C${rest.join(" ")}`, fill: "none", stroke: "#333", "stroke-width": 0.7, "marker-end": "url(#head)" }));
    if (operand) frame.append(words(points.at(-1)[0] + 3, points.at(-1)[1] - 5, operand));
  }
  for (const node of nodes) {
    const share = cost && node.class ? cost.parts[node.class].share : null;
    const { background, ink } = share === null ? { background: "#fff", ink: "#000" } : shade(share);
    const left = node.x - node.width / 2, top = node.y - node.height / 2, line = node.height / node.lines.length;
    const box = s("rect", { x: left, y: top, width: node.width, height: node.height, rx: node.kind === "block" ? 8 : node.kind === "argument" || node.kind === "result" ? 5 : 0,
      fill: background, stroke: "#333", "stroke-width": node.block ? 1.4 : 0.7, "stroke-dasharray": node.kind === "block" ? "4 2" : null });
    frame.append(s("g", {}, s("title", {}, `${KINDS[node.kind]}${node.block ? `, of the block that repeats (${node.block})` : ""}`), box,
      node.lines.map((text, at) => s("text", { x: node.x, y: top + line * (at + 0.5) + 3, "text-anchor": "middle", style: `fill: ${ink}` }, text))));
  }
  return { frame, buttons: movable(frame, width, height) };
}

// Zoom and pan by pointer and keyboard; returns buttons that do the same.
function movable(frame, width, height) {
  const all = [-8, -8, width + 16, height + 16], least = 40, most = Math.max(4 * all[2], 1600);
  let view = [...all];
  const see = (next) => { view = next; frame.setAttribute("viewBox", view.join(" ")); };
  const zoom = (by, [px, py] = [0.5, 0.5]) => {
    const wide = Math.min(Math.max(view[2] * by, least), most), ratio = wide / view[2];
    see([view[0] + px * view[2] * (1 - ratio), view[1] + py * view[3] * (1 - ratio), wide, view[3] * ratio]);
  };
  const move = (dx, dy) => see([view[0] + dx, view[1] + dy, view[2], view[3]]);
  // At first from the top, at a size that reads: a program of a hundred layers is not legible as a whole.
  const wide = Math.max(all[2], 800);
  see([all[0] - (wide - all[2]) / 2, all[1], wide, Math.min(all[3], wide / 2)]);
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
  frame.addEventListener("pointerdown", (event) => { frame.focus({ preventScroll: true }); frame.setPointerCapture(event.pointerId); });
  frame.addEventListener("pointermove", (event) => {
    if (!frame.hasPointerCapture(event.pointerId)) return;
    const box = frame.getBoundingClientRect(), unit = Math.max(view[2] / box.width, view[3] / box.height);
    move(-event.movementX * unit, -event.movementY * unit);
  });
  return [["Closer", "+"], ["Further", "-"], ["All", "0"]].map(([text, key]) => h("button", { type: "button", click: acts[key] }, text));
}
