// The resident memory of every process of a cell, with the phases of one of them.
function memoryOverTime(processes, framework, at) {
  const head = h("h3", {}, "Memory over time"), kept = processes.filter((one) => one.memory && one.memory.length);
  if (!kept.length) return [head, h("p", {}, "Not recorded in this run.")];
  const one = kept.find((found) => String(found.repetition + 1) === at.query.get("round")) || kept[0];
  const largest = (from, to) => Math.max(...one.memory.filter(([s]) => s >= from && s <= to).map(([, mib]) => mib));
  const phases = one.phases.map(([name, from, to]) => ({ name, from, to, mib: largest(from, to) }));
  return [
    head,
    kept.length > 1 ? h("div", { class: "bar" }, choice("Phases of round", kept.map((found) => [String(found.repetition + 1), String(found.repetition + 1)]),
      String(one.repetition + 1), (value) => go(at, { round: value }))) : null,
    memoryPlot(kept, one, framework),
    h("p", {}, `A line is one process, the thick one that of round ${one.repetition + 1}; its phases are marked. The memory was sampled every tenth of a second. ` +
      "Dashed: the largest that the kernel saw of it, between samples too."),
    phases.length ? table(`Phases of round ${one.repetition + 1}`, [
      ["Phase", (phase) => phase.name], ["from s", (phase) => number(phase.from), "number"], ["to s", (phase) => number(phase.to), "number"],
      ["Largest sample, MiB", (phase) => (phase.mib > 0 ? number(phase.mib, 4) : "none taken"), "number"],
    ], phases) : null,
  ];
}

function memoryPlot(processes, one, framework) {
  const width = 860, height = 300, left = 64, bottom = 40, top = 40, right = 12, floor = height - bottom;
  const peak = (one.peak_rss_bytes || 0) / 2 ** 20;
  const longest = Math.max(...processes.flatMap((found) => found.memory.map(([s]) => s)), ...one.phases.map(([, , to]) => to)) || 1;
  const most = Math.max(peak, ...processes.flatMap((found) => found.memory.map(([, mib]) => mib)));
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
  for (const share of [0, 0.5, 1]) {
    plot.append(s("line", { x1: left, x2: width - right, y1: y(share * most), y2: y(share * most), stroke: "#ddd" }),
      words(left - 6, y(share * most) + 4, number(share * most / scale), "end"), words(x(share * longest), floor + 18, number(share * longest), share === 1 ? "end" : "middle"));
  }
  plot.append(words(left, height - 4, "s since its start"), words(4, top - 6, unit));
  plot.append(s("line", { x1: left, x2: width - right, y1: y(peak), y2: y(peak), stroke: "#333", "stroke-dasharray": "4 3" }));
  for (const found of [...processes.filter((other) => other !== one), one]) {
    plot.append(s("polyline", { points: found.memory.map(([seconds, mib]) => `${x(seconds)},${y(mib)}`).join(" "), fill: "none", stroke: colour(framework),
      "stroke-opacity": found === one ? 1 : 0.35, "stroke-width": found === one ? 2 : 1 }));
  }
  return plot;
}
