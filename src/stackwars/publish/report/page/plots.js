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

// Lines across a plot at these values, with the values at their left.
const levels = (values, y, left, right) => values.flatMap((value) => [
  s("line", { x1: left, x2: right, y1: y(value), y2: y(value), stroke: "#ddd" }), words(left - 6, y(value) + 4, short(value), "end"),
]);

// entries: [shape, text].
const legend = (entries, ...more) => h("p", { class: "legend" }, entries.map(([shape, text]) => h("span", {}, s("svg", { width: 14, height: 14, "aria-hidden": "true" }, shape), ` ${text}`)), more);
const dot = (fill) => s("circle", { cx: 6, cy: 8, r: 4, fill });

const short = (value) => String(Number(value.toPrecision(4)));
const COUNTED = ["hbm", "temporaries", "layout", "fusions", "operations", "program", "largest_batch", "collectives"];

// What the two directions of ratios mean: who is faster, or who has less.
function directions(rows) {
  const subjects = unique(rows.map((row) => row.subject)), baselines = unique(rows.map((row) => row.baseline));
  const program = rows.every((row) => row.quantity === "replay") ? "'s program" : "", of = (names, other) => (names.length === 1 && names[0] ? `${title(names[0])}${program}` : other);
  const word = rows.some((row) => COUNTED.includes(row.quantity)) ? "has less" : "faster";
  if (subjects.length === 1 && subjects[0] === baselines[0]) return ["less than the baseline", "more than the baseline"];
  return [`${of(subjects, "the subject")} ${word}`, `${of(baselines, "the baseline")} ${word}`];
}

const UNDECIDED = ["opposite", "inconclusive", "no interval", "no data", "not decided", "not separated", "not separable"];

// The mark of a kind of machine, hollow if nothing is decided there.
const SHAPES = ["M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "M-3.5-3.5h7v7h-7z", "M0-4.5l4.5 8h-9z", "M0-5l5 5-5 5-5-5z", "M0 4.5l4.5-8h-9z", "M-4.5-1.5h3v-3h3v3h3v3h-3v3h-3v-3h-3z"];
const MACHINES = ["", ...DATA.machines];
const mark = (machine, x, y, ink, isOpen, text) => s("path", { class: isOpen ? "open" : null, transform: `translate(${x} ${y})`, d: SHAPES[Math.max(0, MACHINES.indexOf(machine)) % SHAPES.length],
  fill: isOpen ? "#fff" : ink, stroke: ink, "stroke-width": 1.5 }, text ? s("title", {}, text) : null);

// Every comparison as a line with its interval, and a mark on each kind of machine. Neighbours with one label stand together behind it.
// label: what stands at its left; to: where that leads; ink: its colour; single: with the ratio of each round; others: the rows of
// another run by their keys, drawn below; band: where one more run is expected; most: pixels.
function forest(rows, { label, to, ink = (row) => colour(row.subject), single, others, band, most = Infinity } = {}) {
  if (!rows.length) return h("p", {}, "No ratio is known.");
  const named = ["compiler", "device", "variant"].filter((name) => unique(rows.map((row) => row[name])).length > 1);
  const isOneBaseline = unique(rows.map((row) => row.baseline)).length < 2;
  const labelOf = label || ((row) => [row.title, title(row.subject), isOneBaseline || row.baseline === row.subject ? "" : `over ${title(row.baseline)}`, ...named.map((name) => row[name])].filter(Boolean).join(", "));
  const labels = rows.map((row) => `${labelOf(row)}${signed(row)}`), starts = [...labels.keys()].filter((place) => labels[place] !== labels[place - 1]);
  const isGrouped = starts.length < rows.length, line = others ? 26 : isGrouped ? 14 : 18, middle = others ? 8 : line / 2;
  const left = reach(labels), width = wide(Math.min(most, left + 540)), top = 40, foot = top + line * rows.length, height = foot + 44;
  const kinds = rows.map((row) => (row.kinds?.length ? row.kinds : [row])), machines = unique(kinds.flat().map((one) => one.machine || ""));
  const otherRow = rows.map((row) => (others && others.get(keyOf(row))) || {});
  const ends = [...kinds.flat(), ...otherRow].flatMap((one) => [one.ratio, one.low, one.high]).concat(band || [])
    .concat(single ? rows.flatMap((row) => row.each.map(([, , ratio]) => ratio)) : []).filter((value) => value > 0);
  const low = Math.max(Math.min(0.5, ...ends), 1 / 64), high = Math.min(Math.max(2, ...ends), 64);
  const x = logScale(low, high, left, width - 20);
  const plot = drawing(width, height, `Ratios of ${rows.length} comparisons with their intervals; a table has them too`);
  if (to) plot.setAttribute("role", "group");  // an image hides its links from a screen reader
  if (band) plot.append(s("rect", { class: "band", x: x(band[0]), y: top - 4, width: x(band[1]) - x(band[0]), height: foot - top + 4, fill: "#e4edf5" },
    s("title", {}, `one more run is expected from ${number(band[0])} to ${number(band[1])}`)));
  starts.forEach((place, at) => {
    const count = (starts[at + 1] ?? rows.length) - place, text = words(left - 10, top + line * (place + (count - 1) / 2) + middle + 4, labels[place], "end");
    if (isGrouped && at % 2) plot.append(s("rect", { x: left, y: top + line * place, width: width - left, height: line * count, fill: "#f3f3f3" }));
    plot.append(to ? s("a", { href: to(rows[place]) }, text) : text);
  });
  for (const tick of unique([...ticks(low, high, true, width - left < 360 ? 5 : 8), 1])) {
    plot.append(s("line", { x1: x(tick), x2: x(tick), y1: top - 4, y2: foot + 4, stroke: tick === 1 ? "#333" : "#ddd" }), words(x(tick), foot + 20, short(tick), "middle"));
  }
  const [less, more] = directions(rows);
  plot.append(words(left, foot + 38, `\u2190 ${less} | ${more} \u2192`), words(0, 14, "Filled: decided. Hollow: not decided. Ratio, subject / baseline, logarithmic."));
  rows.forEach((row, place) => {
    const y = top + line * place + middle, under = y + 9, other = otherRow[place];
    const bar = (one, up, stroke) => (none(one.low) ? [] : [s("line", { x1: x(one.low), x2: x(one.high), y1: up, y2: up, stroke, "stroke-width": 2 })]);
    plot.append(...kinds[place].flatMap((one) => [...bar(one, y, ink(row)), mark(one.machine, x(one.ratio), y, ink(row), UNDECIDED.includes(one.verdict),
      `${[row.compiler, one.machine].filter(Boolean).map((text) => `${text}: `).join("")}${number(one.ratio)} ${interval(one.low, one.high)}, ${one.verdict || ""}`)]),
    ...(single ? row.each : []).map(([run, round, ratio]) => s("circle", { class: "round", cx: x(ratio), cy: y, r: 2, fill: "#333", "fill-opacity": 0.5 },
      s("title", {}, `${run ? `${run}, ` : ""}${none(round) ? "all rounds" : `round ${round + 1}`}: ${number(ratio)}`))),
    ...(none(other.ratio) ? [] : [...bar(other, under, "#777"), s("path", { class: "other", d: `M${x(other.ratio)} ${under - 4} l4 4 -4 4 -4 -4 z`, fill: "#fff", stroke: "#555" })]));
  });
  return machines.length < 2 ? plot : h("div", {}, legend(machines.map((machine) => [mark(machine, 7, 8, "#333"), machine || "this run"])), plot);
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
