// Told apart in grey too: from dark to light, and by their names at the end of each line.
const ROUNDS = ["#14213d", "#b3470e", "#0b6e4f", "#7b3294", "#1f78b4", "#8c6d1f"];
const roundColour = (round) => ROUNDS[round % ROUNDS.length];

function everyCall(processes, framework, at) {
  if (!processes.length) return [h("h3", {}, "Every call"), h("p", {}, "The raw calls of this cell are not in this report.")];
  const scale = at.query.get("scale") || "log", names = processes.map((one) => String(one.round + 1));
  const chosen = names.includes(at.query.get("calls")) ? at.query.get("calls") : "";
  return [
    h("h3", {}, "Every call"),
    h("div", { class: "bar" }, choice("Scale", [["log", "logarithmic"], ["linear", "linear"]], scale, (value) => go(at, { scale: value })),
      choice("Round", [["", "all"], ...names.map((name) => [name, name])], chosen, (value) => go(at, { calls: value }))),
    h("p", { class: "legend" }, processes.filter((one) => !chosen || String(one.round + 1) === chosen).map((one) => h("span", {}, s("svg", { width: 14, height: 10, "aria-hidden": "true" },
      s("circle", { cx: 6, cy: 5, r: 4, fill: roundColour(one.round) })), ` round ${one.round + 1}`))),
    callsPlot(processes.filter((one) => !chosen || String(one.round + 1) === chosen), scale === "log"),
    h("p", {}, "A line is one process: its first call, its second, and its blocks of calls. Filled: an uncontended block; hollow: one that other processes or the host disturbed. A point tells its number when the pointer rests on it."),
  ];
}

// Latency against the number of the call, a line for each process.
function callsPlot(processes, log) {
  const width = 860, height = 320, left = 64, bottom = 40, top = 20;
  const series = processes.map((one) => ({ round: one.round, points: [one.first, one.second, ...one.blocks].map((ms, place) =>
    ({ ms, call: place < 2 ? place + 1 : 3 + (place - 2) * one.calls, last: place < 2 ? 0 : 2 + (place - 1) * one.calls,
      kept: place < 2 || one.kept[place - 2] === "1" })) }));
  const every = series.flatMap((one) => one.points), most = Math.max(...every.map((p) => p.call), 3);
  const values = every.map((p) => p.ms).filter((ms) => ms > 0), low = Math.min(...values), high = Math.max(...values);
  const x = (call) => left + (width - left - 12) * (log ? Math.log(call) / Math.log(most) : (call - 1) / (most - 1));
  const share = (ms) => log ? Math.log(ms / low) / (Math.log(high / low) || 1) : ms / high;
  const y = (ms) => height - bottom - (height - bottom - top) * (log ? share(Math.max(ms, low)) : share(ms));
  const plot = drawing(width, height, `Latency against the number of the call, ${processes.length} processes, from ${number(low)} to ${number(high)} ms`);
  for (const ms of log ? [low, Math.sqrt(low * high), high] : [0, high / 2, high]) {
    plot.append(s("line", { x1: left, x2: width - 12, y1: y(ms), y2: y(ms), stroke: "#ddd" }), words(left - 6, y(ms) + 4, number(ms), "end"));
  }
  for (const call of unique(log ? [1, 2, Math.max(3, Math.round(Math.sqrt(most))), most] : [1, Math.round(most / 2), most])) plot.append(words(x(call), height - bottom + 18, call, call === most ? "end" : "middle"));
  plot.append(words(left, height - 4, "number of the call"), words(4, top - 8, "ms a call"));
  for (const { round, points } of series) {
    const ink = roundColour(round);
    plot.append(s("polyline", { points: points.map((p) => `${x(p.call)},${y(p.ms)}`).join(" "), fill: "none", stroke: ink, "stroke-opacity": 0.35 }));
    for (const p of points) {
      const calls = p.last > p.call ? `calls ${p.call} to ${p.last}` : `call ${p.call}`;
      plot.append(s("circle", { cx: x(p.call), cy: y(p.ms), r: 2.6, stroke: ink, fill: p.kept ? ink : "#fff" },
        s("title", {}, `Round ${round + 1}, ${calls}: ${number(p.ms, 4)} ms${p.kept ? "" : ", disturbed"}`)));
    }
  }
  return plot;
}
