const STEPS = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7], [1, 1.2, 1.5, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]];

// Round numbers from low to high, at most so many.
function ticks(low, high, log = false, most = 7) {
  if (!(high > low)) return [low];
  if (log) {
    const powers = []; for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) powers.push(10 ** power);
    const sets = STEPS.map((steps) => powers.flatMap((power) => steps.map((step) => Number((step * power).toPrecision(12)))).filter((tick) => tick >= low * 0.9999 && tick <= high * 1.0001));
    const best = sets.filter((set) => set.length <= most).reduce((found, set) => (set.length > found.length ? set : found), []);
    return best.length > 1 ? best : ticks(low, high, false, most);
  }
  const power = 10 ** Math.floor(Math.log10((high - low) / most));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => (high - low) / one <= most);
  const first = Math.ceil(low / step);
  return [...Array(Math.floor(high / step) - first + 1).keys()].map((place) => Number(((first + place) * step).toPrecision(12)));
}

// Where a value stands on a logarithmic axis; what is beyond its ends stands at them.
const logScale = (low, high, from, to) => (value) => from + (to - from) * Math.log(Math.min(Math.max(value, low), high) / low) / (Math.log(high / low) || 1);

// entries: [shape, text].
const legend = (entries, ...more) => h("p", { class: "legend" }, entries.map(([shape, text]) => h("span", {}, s("svg", { width: 14, height: 14, "aria-hidden": "true" }, shape), ` ${text}`)), more);
const dot = (fill) => s("circle", { cx: 6, cy: 8, r: 4, fill });

const short = (value) => String(Number(value.toPrecision(4)));
const COUNTED = ["hbm", "temporaries", "layout", "fusions", "operations", "program", "largest_batch", "collectives"];

// What the two directions of ratios mean: who is faster, or who has less.
function directions(rows) {
  const subjects = unique(rows.map((row) => row.subject)), baselines = unique(rows.map((row) => row.baseline));
  const of = (names, other) => (names.length === 1 && names[0] ? title(names[0]) : other);
  const word = rows.some((row) => COUNTED.includes(row.quantity)) ? "has less" : "faster";
  if (subjects.length === 1 && subjects[0] === baselines[0]) return ["less than the baseline", "more than the baseline"];
  return [`${of(subjects, "the subject")} ${word}`, `${of(baselines, "the baseline")} ${word}`];
}

const UNDECIDED = ["opposite", "inconclusive", "no interval", "no data", "not decided", "not separated", "not separable"];

// Every comparison as a line with its interval. label: what stands at its left; single: with the ratio of each round; others: the
// rows of another run by their keys, drawn below; band: where one more run is expected; most: pixels.
function forest(rows, { label, single, others, band, most = Infinity } = {}) {
  if (!rows.length) return h("p", {}, "No ratio is known.");
  const named = ["compiler", "device", "variant"].filter((name) => unique(rows.map((row) => row[name])).length > 1);
  const labelOf = label || ((row) => [row.title, title(row.subject), ...named.map((name) => row[name])].filter(Boolean).join(", "));
  const labels = rows.map((row) => `${labelOf(row)}${signed(row)}`);
  const line = others ? 26 : 18, left = reach(labels), width = wide(Math.min(most, left + 540)), top = 40, height = top + line * rows.length + 44;
  const otherRow = rows.map((row) => (others && others.get(keyOf(row))) || {});
  const ends = [...rows, ...otherRow].flatMap((row) => [row.ratio, row.low, row.high]).concat(band || [])
    .concat(single ? rows.flatMap((row) => row.each.map(([, , ratio]) => ratio)) : []).filter((value) => value > 0);
  const low = Math.max(Math.min(0.5, ...ends), 1 / 64), high = Math.min(Math.max(2, ...ends), 64);
  const x = logScale(low, high, left, width - 20);
  const plot = drawing(width, height, `Ratios of ${rows.length} comparisons with their intervals; a table has them too`);
  if (band) plot.append(s("rect", { class: "band", x: x(band[0]), y: top - 4, width: x(band[1]) - x(band[0]), height: line * rows.length + 4, fill: "#e4edf5" },
    s("title", {}, `one more run is expected from ${number(band[0])} to ${number(band[1])}`)));
  for (const tick of unique([...ticks(low, high, true, width - left < 360 ? 5 : 8), 1])) {
    plot.append(s("line", { x1: x(tick), x2: x(tick), y1: top - 4, y2: height - 40, stroke: tick === 1 ? "#333" : "#ddd" }), words(x(tick), height - 24, short(tick), "middle"));
  }
  const [less, more] = directions(rows);
  plot.append(words(left, height - 6, `\u2190 ${less} | ${more} \u2192`), words(0, 14, "Filled: decided. Hollow: not decided. Ratio, subject / baseline, logarithmic."));
  rows.forEach((row, place) => {
    const y = top + line * place + 8, ink = colour(row.subject), isOpen = UNDECIDED.includes(row.verdict);
    const bar = (of, up, stroke) => (none(of.low) ? null : s("line", { x1: x(of.low), x2: x(of.high), y1: up, y2: up, stroke, "stroke-width": 2 }));
    plot.append(words(left - 10, y + 4, labels[place], "end"), ...some([bar(row, y, ink)]),
      s("circle", { class: isOpen ? "open" : null, cx: x(row.ratio), cy: y, r: 4, fill: isOpen ? "#fff" : ink, stroke: ink, "stroke-width": 1.5 },
        s("title", {}, `${number(row.ratio)} ${interval(row.low, row.high)}, ${row.verdict || ""}`)),
      ...(single ? row.each : []).map(([run, round, ratio]) => s("circle", { class: "round", cx: x(ratio), cy: y, r: 2, fill: "#333", "fill-opacity": 0.5 },
        s("title", {}, `${run ? `${run}, ` : ""}${none(round) ? "all rounds" : `round ${round + 1}`}: ${number(ratio)}`))));
    const other = otherRow[place], under = y + 9;
    if (none(other.ratio)) return;
    plot.append(...some([bar(other, under, "#777")]), s("path", { d: `M${x(other.ratio)} ${under - 4} l4 4 -4 4 -4 -4 z`, fill: "#fff", stroke: "#555" }));
  });
  return plot;
}

// Bars in ms, each from one value to another, below each other. rows: [{label, from, to, ink, about}].
function msBars(rows, unit = "ms") {
  const left = reach(rows.map((row) => row.label)), right = reach(rows.map((row) => row.about)) + 8, width = wide(left + right + 420), line = 24, top = 8;
  const ends = [0, ...rows.flatMap((row) => [row.from, row.to])], low = Math.min(...ends), high = Math.max(...ends, low + 1e-9), height = top + line * rows.length + 40;
  const x = (value) => left + (width - left - right) * (value - low) / (high - low);
  const plot = drawing(width, height, `${rows.length} bars from ${number(low)} to ${number(high)} ${unit}; a table has them too`);
  for (const tick of ticks(low, high, false, 5)) plot.append(s("line", { x1: x(tick), x2: x(tick), y1: top, y2: height - 34, stroke: tick ? "#ddd" : "#333" }), words(x(tick), height - 20, short(tick), "middle"));
  rows.forEach((row, place) => {
    const y = top + line * place, from = Math.min(row.from, row.to), to = Math.max(row.from, row.to);
    plot.append(words(left - 8, y + 15, row.label, "end"), s("rect", { x: x(from), y: y + 3, width: Math.max(1, x(to) - x(from)), height: line - 8, fill: row.ink },
      s("title", {}, `${row.label}: ${row.about}`)), words(x(to) + 6, y + 15, row.about));
  });
  plot.append(words(left, height - 4, unit));
  return plot;
}
