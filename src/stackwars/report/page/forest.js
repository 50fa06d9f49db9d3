// Every comparison as a line with its interval; of two runs, the other one's below it.
function forest(rows, single, others) {
  if (!rows.length) return h("p", {}, "No ratio is known.");
  const named = ["compiler", "device", "variant"].filter((name) => unique(rows.map((row) => row[name])).length > 1);
  const labels = rows.map((row) => [row.title, title(row.subject), ...named.map((name) => row[name])].filter(Boolean).join(", "));
  const line = others ? 26 : 18, left = 30 + 6.3 * Math.max(34, ...labels.map((text) => text.length)), width = left + 540, top = 40, height = top + line * rows.length + 26;
  const there = rows.map((row) => (others && others.get(keyOf(row))) || {});
  const ends = [...rows, ...there].flatMap((row) => [row.ratio, row.low, row.high]).concat(single ? rows.flatMap((row) => row.each.map(([, , ratio]) => ratio)) : []).filter((value) => value > 0);
  const low = Math.max(Math.min(0.5, ...ends), 1 / 64), high = Math.min(Math.max(2, ...ends), 64);
  const x = (ratio) => left + (width - left - 20) * Math.log(Math.min(Math.max(ratio, low), high) / low) / Math.log(high / low);
  const plot = drawing(width, height, `Ratios of ${rows.length} comparisons with their intervals; the table below has them`);
  for (const tick of [1 / 32, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 32].filter((tick) => tick >= low && tick <= high)) {
    plot.append(s("line", { x1: x(tick), x2: x(tick), y1: top - 4, y2: height - 22, stroke: tick === 1 ? "#333" : "#ddd" }),
      words(x(tick), height - 6, tick < 1 ? `1/${1 / tick}` : tick, "middle"));
  }
  plot.append(words(x(1) - 8, 14, "\u2190 less than the baseline", "end"), words(x(1) + 8, 14, "more than the baseline \u2192"), words(0, 14, "Filled: decided. Hollow: not decided."));
  rows.forEach((row, place) => {
    const y = top + line * place + 8, ink = colour(row.subject), isOpen = UNDECIDED.includes(row.verdict);
    const bar = (of, up, stroke) => (none(of.low) ? null : s("line", { x1: x(of.low), x2: x(of.high), y1: up, y2: up, stroke, "stroke-width": 2 }));
    plot.append(words(left - 10, y + 4, labels[place], "end"),
      ...some([bar(row, y, ink)]),
      s("circle", { class: isOpen ? "open" : null, cx: x(row.ratio), cy: y, r: 4, fill: isOpen ? "#fff" : ink, stroke: ink, "stroke-width": 1.5 }, s("title", {}, `${number(row.ratio)} ${interval(row.low, row.high)}, ${row.verdict}`)),
      ...(single ? row.each : []).map(([run, round, ratio]) => s("circle", { class: "round", cx: x(ratio), cy: y, r: 2, fill: "#333", "fill-opacity": 0.5 },
        s("title", {}, `${run ? `${run}, ` : ""}${none(round) ? "all rounds" : `round ${round + 1}`}: ${number(ratio)}`))));
    const other = there[place], under = y + 9;
    if (none(other.ratio)) return;
    plot.append(...some([bar(other, under, "#777")]), s("path", { d: `M${x(other.ratio)} ${under - 4} l4 4 -4 4 -4 -4 z`, fill: "#fff", stroke: "#555" }));
  });
  return plot;
}
