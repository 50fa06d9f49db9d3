// Told apart in grey too: from dark to light, and by their names at the end of each line.
const ROUNDS = ["#14213d", "#b3470e", "#0b6e4f", "#7b3294", "#1f78b4", "#8c6d1f"];
const roundColour = (round) => ROUNDS[round % ROUNDS.length];

function everyCall(processes, framework, at) {
  if (!processes.length) return [h("h3", {}, "Every call"), h("p", {}, "The raw calls of this cell are not in this report.")];
  const scale = at.query.get("scale") || "log", names = processes.map((one) => String(one.round + 1));
  const chosen = names.includes(at.query.get("calls")) ? at.query.get("calls") : "", shown = processes.filter((one) => !chosen || String(one.round + 1) === chosen);
  return [
    h("h3", {}, "Every call"),
    h("div", { class: "bar" }, choice("Scale", [["log", "logarithmic"], ["linear", "linear"]], scale, (value) => go(at, { scale: value })),
      choice("Round", [["", "all"], ...names.map((name) => [name, name])], chosen, (value) => go(at, { calls: value }))),
    legend(shown.map((one) => [dot(roundColour(one.round)), `round ${one.round + 1}`])),
    callsPlot(shown, scale === "log"),
    h("p", {}, "A line is one process: its first call, its second, and its blocks of calls. Filled: an uncontended block; hollow: one that other processes or the host disturbed. A point tells its number when the pointer rests on it."),
  ];
}

// Latency against the number of the call, a line for each process.
function callsPlot(processes, log) {
  const width = wide(860), height = 320, left = 64, bottom = 40, top = 20;
  const series = processes.map((one) => ({ round: one.round, points: [one.first, one.second, ...one.blocks].map((ms, place) =>
    ({ ms, call: place < 2 ? place + 1 : 3 + (place - 2) * one.calls, last: place < 2 ? 0 : 2 + (place - 1) * one.calls,
      uncontended: place < 2 || one.uncontended[place - 2] === "1" })) }));
  const every = series.flatMap((one) => one.points), most = Math.max(...every.map((p) => p.call), 3);
  const values = every.map((p) => p.ms).filter((ms) => ms > 0), low = Math.min(...values), high = Math.max(...values);
  const x = log ? logScale(1, most, left, width - 12) : (call) => left + (width - left - 12) * (call - 1) / (most - 1);
  const y = log ? logScale(low, high, height - bottom, top) : (ms) => height - bottom - (height - bottom - top) * ms / high;
  const plot = drawing(width, height, `Latency against the number of the call, ${processes.length} processes, from ${number(low)} to ${number(high)} ms`);
  for (const ms of log ? ticks(low, high, true) : ticks(0, high)) {
    plot.append(s("line", { x1: left, x2: width - 12, y1: y(ms), y2: y(ms), stroke: "#ddd" }), words(left - 6, y(ms) + 4, short(ms), "end"));
  }
  for (const call of (log ? ticks(1, most, true) : ticks(1, most)).filter(Number.isInteger)) plot.append(words(x(call), height - bottom + 18, short(call), "middle"));
  plot.append(words(left, height - 4, "number of the call"), words(4, top - 8, "ms a call"));
  for (const { round, points } of series) {
    const ink = roundColour(round);
    plot.append(s("polyline", { points: points.map((p) => `${x(p.call)},${y(p.ms)}`).join(" "), fill: "none", stroke: ink, "stroke-opacity": 0.35 }));
    for (const p of points) {
      const calls = p.last > p.call ? `calls ${p.call} to ${p.last}` : `call ${p.call}`;
      plot.append(s("circle", { cx: x(p.call), cy: y(p.ms), r: 2.6, stroke: ink, fill: p.uncontended ? ink : "#fff" },
        s("title", {}, `Round ${round + 1}, ${calls}: ${number(p.ms, 4)} ms${p.uncontended ? "" : ", disturbed"}`)));
    }
  }
  return plot;
}

// The resident memory of every process of a cell, with the phases of one of them.
function memoryOverTime(processes, framework, at) {
  const head = h("h3", {}, "Memory over time"), sampled = processes.filter((one) => one.memory && one.memory.length);
  if (!sampled.length) return [head, h("p", {}, "Not recorded in this run.")];
  const one = sampled.find((other) => String(other.repetition + 1) === at.query.get("round")) || sampled[0];
  const largest = (from, to) => Math.max(...one.memory.filter(([s]) => s >= from && s <= to).map(([, mib]) => mib));
  const phases = one.phases.map(([name, from, to]) => ({ name, from, to, mib: largest(from, to) }));
  return [
    head,
    sampled.length > 1 ? h("div", { class: "bar" }, choice("Phases of round", sampled.map((other) => [String(other.repetition + 1), String(other.repetition + 1)]),
      String(one.repetition + 1), (value) => go(at, { round: value }))) : null,
    memoryPlot(sampled, one, framework),
    h("p", {}, `A line is one process, the thick one that of round ${one.repetition + 1}; its phases are marked. The memory was sampled every tenth of a second. ` +
      "Dashed: the largest that the kernel saw of it, between samples too."),
    phases.length ? table(`Phases of round ${one.repetition + 1}`, [
      ["Phase", "name"], ["from s", "from", "digits"], ["to s", "to", "digits"],
      ["Largest sample, MiB", (phase) => (phase.mib > 0 ? number(phase.mib, 4) : "none taken"), "number"],
    ], phases) : null,
  ];
}

function memoryPlot(processes, one, framework) {
  const width = wide(860), height = 300, left = 64, bottom = 40, top = 40, right = 12, floor = height - bottom;
  const peak = (one.peak_rss_bytes || 0) / 2 ** 20;
  const longest = Math.max(...processes.flatMap((other) => other.memory.map(([s]) => s)), ...one.phases.map(([, , to]) => to)) || 1;
  const most = Math.max(peak, ...processes.flatMap((other) => other.memory.map(([, mib]) => mib)));
  const [unit, scale] = most >= 1024 ? ["GiB", 1024] : ["MiB", 1];
  const x = (s) => left + (width - left - right) * s / longest, y = (mib) => floor - (floor - top) * mib / most;
  const plot = drawing(width, height, `Resident memory over ${number(longest)} s of ${processes.length} processes; ` +
    `of round ${one.repetition + 1} at most ${number(peak / scale)} ${unit}`);
  // In two rows by turns, so that a name may reach over the next phase; one too long for both is in the table alone.
  one.phases.forEach(([name, from, to], place) => {
    plot.append(s("rect", { x: x(from), y: top, width: Math.max(0.5, x(to) - x(from)), height: floor - top, fill: place % 2 ? "#e4edf5" : "#f5eddc" },
      s("title", {}, `${name}: ${number(from)} to ${number(to)} s`)));
    const free = one.phases[place + 2] ? x(one.phases[place + 2][1]) : width;
    if (free - x(from) > 7 * name.length) plot.append(words(x(from), top - (place % 2 ? 6 : 20), name));
  });
  for (const tick of ticks(0, most / scale, false, 5)) {
    plot.append(s("line", { x1: left, x2: width - right, y1: y(tick * scale), y2: y(tick * scale), stroke: "#ddd" }), words(left - 6, y(tick * scale) + 4, short(tick), "end"));
  }
  for (const tick of ticks(0, longest)) plot.append(words(x(tick), floor + 18, short(tick), "middle"));
  plot.append(words(left, height - 4, "s since its start"), words(4, top - 6, unit));
  plot.append(s("line", { x1: left, x2: width - right, y1: y(peak), y2: y(peak), stroke: "#333", "stroke-dasharray": "4 3" }));
  for (const other of [...processes.filter((process) => process !== one), one]) {
    plot.append(s("polyline", { points: other.memory.map(([seconds, mib]) => `${x(seconds)},${y(mib)}`).join(" "), fill: "none", stroke: colour(framework),
      "stroke-opacity": other === one ? 1 : 0.35, "stroke-width": other === one ? 2 : 1 }));
  }
  return plot;
}

// The end of each process's log; open if the process did not end well.
function logs(processes) {
  const said = processes.filter((one) => (one.log || "").trim());
  return [h("h3", {}, "Logs"), said.length ? h("p", {}, "The last lines of each that is not empty, at most 20.") : h("p", {}, "Nothing was logged, or no log was recorded."),
    ...said.map((one) => h("details", { open: one.status === "ok" ? null : "" }, h("summary", {}, `Round ${one.repetition + 1}: ${one.status}`),
      h("pre", { class: "scroll log", tabindex: "0", role: "region", "aria-label": `Log of round ${one.repetition + 1}` }, one.log)))];
}
