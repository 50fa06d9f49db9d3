// Every comparison as a line with its interval; of two runs, the other one's below it.
function forest(rows, stage, compiler, single) {
  const two = DATA.other && !compiler, line = two ? 26 : 18, left = 320, width = 860, top = 22, height = top + line * rows.length + 26;
  const columns = ["", "_low", "_high"].map((end) => `${stage}_ratio${end}`);
  const others = rows.map((row) => (two && OTHER.get(cellKey(row))) || {});
  const each = rows.map((row) => roundsOf(row, stage, single));
  const ends = [...rows, ...others].flatMap((row) => columns.map((column) => row[column])).concat(each.flat().map(([, ratio]) => ratio)).filter((value) => value > 0);
  const low = Math.max(Math.min(0.5, ...ends), 1 / 64), high = Math.min(Math.max(2, ...ends), 64);
  const x = (ratio) => left + (width - left - 20) * Math.log(Math.min(Math.max(ratio, low), high) / low) / Math.log(high / low);
  const plot = drawing(width, height, `Ratios of ${rows.length} comparisons with their intervals; the table below has them`);
  for (const tick of [1 / 32, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 32].filter((tick) => tick >= low && tick <= high)) {
    plot.append(s("line", { x1: x(tick), x2: x(tick), y1: top - 4, y2: height - 22, stroke: tick === 1 ? "#333" : "#ddd" }),
      words(x(tick), height - 6, tick < 1 ? `1/${1 / tick}` : tick, "middle"));
  }
  rows.forEach((row, place) => {
    const y = top + line * place + 8, ink = colour(row.framework);
    const bar = (of, up, stroke) => (none(of[columns[1]]) ? null
      : s("line", { x1: x(of[columns[1]]), x2: x(of[columns[2]]), y1: up, y2: up, stroke, "stroke-width": 2 }));
    plot.append(words(left - 10, y + 4, `${row.title}, ${title(row.framework)}${row.device === "cpu" ? "" : `, ${row.device}`}`, "end"),
      ...some([bar(row, y, ink)]), s("circle", { cx: x(row[columns[0]]), cy: y, r: 4, fill: ink }, s("title", {}, `${number(row[columns[0]])} ${interval(row[columns[1]], row[columns[2]])}`)),
      ...each[place].map(([round, ratio]) => s("circle", { class: "round", cx: x(ratio), cy: y, r: 3, fill: "#fff", stroke: "#333" }, s("title", {}, `Round ${round + 1}: ${number(ratio)}`))));
    const other = others[place], at = x(other[columns[0]]), under = y + 9;
    if (none(other[columns[0]])) return;
    plot.append(...some([bar(other, under, "#777")]),
      s("path", { d: `M${at} ${under - 4} l4 4 -4 4 -4 -4 z`, fill: "#fff", stroke: "#555" }));
  });
  return plot;
}
