// The comparisons of the pair on the CPU that have a ratio, this run's before the reference's.
const ofPair = (workload, quantity, compiler) => having(DATA.comparisons, { ...DATA.pair, workload, quantity, compiler, device: "cpu" })
  .filter((row) => !none(row.ratio)).sort((a, b) => isOther(a) - isOther(b));
// The ratio of both programs in each compiler.
const inCompilers = (workload) => Object.keys(DATA.compilers).flatMap((name) => ofPair(workload, "replay", name).slice(0, 1));
const compilerTitle = (name) => DATA.compilers[name]?.title || name;
const isDecided = (verdict) => ["slower", "faster"].includes(verdict);
const whole = (share) => (100 * share).toFixed(0);
const onMachine = ({ machine }) => (machine ? ` on machines of ${machine}` : "");
// "2.51 [2.40, 2.62] on machines of 362 to 512 GFLOP/s and 1.87 ..."
const onMachines = ({ kinds }, unit = "") => kinds.map((one) => `${[number(one.ratio), interval(one.low, one.high)].filter(Boolean).join(" ")}${unit}${onMachine(one)}`).join(" and ");

// The cause of the gap between the pair's programs: in the native compiler, or else in another one.
function causeOf(workload) {
  const pair = Object.values(DATA.pair), found = having(DATA.causes, { workload, verdict: "cause" }).filter((row) => pair.includes(row.subject) && pair.includes(row.baseline));
  return found.sort((a, b) => (a.compiler !== DATA.native) - (b.compiler !== DATA.native))[0];
}

// Why the native ratio is not 1, in a few words; nothing if that is not known.
function causeWords(workload) {
  const cause = causeOf(workload), [margin] = ofPair(workload, "margin", DATA.native);
  if (margin && margin.verdict === "everything else" && isDecided(margin.native_verdict || "slower")) return `not the program${signed(margin)}`;
  return cause && cause.compiler === DATA.native ? `${cause.what}, ${cause.places.split(",")[0]}, ${whole(cause.closed)} %${signed(cause)}` : "";
}

// Who is slower, which factor of the ratio is the larger one, what a search found, and by what factors frontend and compiler move a time.
function sentencesOf(workload) {
  const [one, other] = [DATA.pair.subject, DATA.pair.baseline].map((name) => (name ? title(name) : "the other")), [steady] = ofPair(workload, "steady"), result = [];
  const [margin, program, rest] = ["margin", "replay", "everything else"].map((quantity) => ofPair(workload, quantity, DATA.native)[0]), cause = causeOf(workload);
  if (steady) result.push(`${one} ${isDecided(steady.verdict) ? `is ${steady.verdict} than ${other}` : `over ${other}, ${steady.verdict}`}: its steady state takes ${onMachines(steady, " times as long")}.${signed(steady)}`);
  else result.push(`No steady state of ${one} was compared with that of ${other}.`);
  if (margin && isDecided(margin.native_verdict || "slower")) {
    const larger = { "the program": "The emitted program is the larger factor", "everything else": "Everything else is the larger factor" }[margin.verdict] || "Whether the emitted program or everything else is the larger factor is not separated from noise";
    const factors = (program?.kinds || []).map((kind) => [kind, rest?.kinds.find(({ machine }) => machine === kind.machine)]).filter(([, same]) => same)
      .map(([kind, same]) => `the program ${number(kind.ratio)}, everything else ${number(same.ratio)}${onMachine(kind)}`).join("; ");
    result.push(`${larger}${factors && ": "}${factors}.${signed(margin)}`);
  }
  if (cause) {
    // Each reason begins with `this`, and may say `in this layout`.
    const [first] = (cause.reason || "").split(/ this (?!layout)/), ends = none(cause.closed_low) || none(cause.closed_high) ? "" : ` [${whole(cause.closed_low)}, ${whole(cause.closed_high)}]`;
    result.push(`In ${compilerTitle(cause.compiler)}, where ${title(cause.subject)}'s program is slower, the cause is ${cause.what} (${cause.places}), without which ${whole(cause.closed)} %${ends} of the gap is gone${first && ": "}${first}.${signed(cause)}`);
  }
  const effects = having(DATA.effects, { workload, subset: "all" }).filter((row) => !none(row.factor)).sort((a, b) => b.factor - a.factor), largest = effects[0]?.largest;
  const named = effects.some((row) => row.effect === largest) ? `${largest} is the largest` : "none is clearly the largest";
  if (effects.length) result.push(`Typical effect on a time, over all frontends and compilers: ${effects.map((row) => `${row.effect} ${number(row.factor)}`).join(", ")} (${named}).${signed(effects[0])}`);
  return result;
}

// What each option that the configuration sets in a compiler does to the ratio of both programs.
const optionsOf = (compilers) => compilers.flatMap((row) => {
  const { options, base } = DATA.compilers[row.compiler], without = compilers.find((one) => one.compiler === base);
  return options && without && without !== row ? [`With ${options}, the ratio of both programs in ${compilerTitle(base)} is ${onMachines(row)}; without it ${onMachines(without)}.${signed(row)}`] : [];
});

// All that is known of why one frontend's workload is slower than another's, each part as its own view draws it.
async function why(at) {
  const known = Object.keys(DATA.why), workload = known.includes(at.parts[1]) ? at.parts[1] : known[0];
  if (!workload) return [h("h2", {}, "Why"), missing("No two frontends were compared.", "make paper")];
  const { subject, baseline } = DATA.pair, compilers = inCompilers(workload), page = { ...await unpack(DATA.why[workload]), ...DATA.pair, compilers, options: optionsOf(compilers) };
  const [answers, released, every] = [DATA.explained, DATA.releases, DATA.comparisons].map((rows) => having(rows, { workload }));
  const steps = released.filter((row) => row.change), compared = every.filter((row) => row.device === "cpu" && !none(row.ratio));
  const here = { parts: ["why", workload], query: at.query };
  return [
    h("h2", {}, `Why: ${titleOf(workload)}, ${title(subject)} over ${title(baseline)}`),
    at.parts[1] && at.parts[1] !== workload ? missing(`Of ${titleOf(at.parts[1])} this report has no number of the two.`, `make study STUDIES=stacks WORKLOADS=${at.parts[1]}`) : null,
    h("div", { class: "bar" }, choice("Workload", known.map((name) => [name, titleOf(name)]), workload, (value) => { location.hash = address(["why", value]); })),
    h("ul", { class: "verdict" }, sentencesOf(workload).map((text, place) => h("li", {}, place ? text : h("strong", {}, text)))),
    elsewhere(workload),
    ...closedBy(page, workload, answers),
    ...switched(page, workload, answers),
    h("h3", {}, "Which release changed it"),
    released.length ? beside(releasePlot(released), steps.length ? releaseTable("The releases that changed a program of it", unnamed(steps)) : h("p", {}, "No release changed its time, its values or its status.")) : missing("No release of a compiler is known to have changed it.", `make releases PROGRAM=${workload}`),
    ...byCompiler(page, workload),
    ...byRun(compared, workload),
    ...waterfall(page),
    ...byClass(workload, here),
    ...(await named(page, workload)),
    ...(await longest(workload)),
    ...others(compared),
    ...onTargets(every, workload),
    ...numbers(workload),
    h("h3", {}, "What measures this again"),
    page.commands.map(([text, command]) => h("div", {}, h("p", {}, `${text}:`), preformatted(text, command, "scroll"))),
    h("p", {}, `Measured at revision ${DATA.meta.git_revision}: git checkout ${DATA.meta.git_revision} has its sources.`),
  ];
}

// Rows without the workload that the page is about.
const unnamed = (rows) => rows.map((row) => ({ ...row, title: "" }));

// The rows of a part, with the sign of the part.
const ofPart = (rows, part) => rows.map((row) => ({ ...row, reference: part.reference }));

// From the baseline's call to the subject's, in ms: what the program adds, and what everything else does.
function waterfall({ waterfall: steps, subject, baseline }) {
  const head = h("h3", {}, "Native = program \u00d7 everything else");
  if (!steps) return [head, missing("Native calls and replays of both programs were not measured in the same rounds.", "make paper")];
  const label = { baseline: `${title(baseline)}, native`, program: "the program", subject: `${title(subject)}, native` };
  const ink = { baseline: colour(baseline), subject: colour(subject), program: "#777", "everything else": "#a07800" };
  const added = (one) => (one.name === "baseline" || one.name === "subject" ? `${number(one.to)} ms` : `${one.to < one.from ? "\u2212" : "+"}${number(Math.abs(one.to - one.from))} ms`);
  return [head, beside(msBars(steps.steps.map((one) => ({ label: `${label[one.name] || one.name}${signed(steps)}`, from: one.from, to: one.to, ink: ink[one.name], about: added(one) }))),
    table("The steps", [["Step", (one) => label[one.name] || one.name], ["From, ms", "from", "digits"], ["To, ms", "to", "digits"]], ofPart(steps.steps, steps))),
  h("p", {}, `Times of ${steps.run ? `run ${steps.run}` : "this run"} alone, in ${steps.compiler}. The program is the replay of both programs in one compiler. `, term("everything else", "Everything else"),
    " is what is left: tracing, dispatch, another build of XLA, and the error of both.")];
}

// A line for each compiler, with a mark for each kind of machine.
function byCompiler({ compilers }, workload) {
  const head = h("h3", {}, "The ratio of both programs in each compiler"), rows = compilers.flatMap(({ kinds, ...row }) => kinds.map((one) => ({ ...row, ...one })));
  if (!rows.length) return [head, missing("Its programs were replayed in no compiler.", `make study STUDIES=matrix WORKLOADS=${workload}`)];
  return [head, beside(forest(compilers, { label: (row) => row.compiler, most: BESIDE }), table("Ratios by compiler", ["Compiler", ["Machines of", "machine"], "Ratio", "Interval", "Verdict", "Prediction interval"], rows))];
}

// What an option of a compiler, or leaving out a pass, does to the gap.
function switched({ options, compilers }, workload, answers) {
  const found = answers.filter((row) => row.cures.length), names = compilers.map((row) => row.compiler).slice(0, 2);
  return [h("h3", {}, "Which pass or option changes it"), options.length || found.length ? h("ul", { class: "verdict" }, options.map((text) => h("li", {}, text)),
    found.map((row) => h("li", {}, `${[row.compiler, row.other].filter(Boolean).join(" / ")}, ${title(row.subject)}: `, listOf(row.cures.map((flag) => h("code", {}, flag))), sign(row), ". ", link("The answer", ["explained", row.name])))) : null,
  found.length ? null : missing("No single pass was left out: a search between two frontends edits the programs. Between two compilers it tries passes and options:", `make explain PROGRAM=${workload}${names.length > 1 ? ` COMPILERS=${names.join(",")}` : ""}`)];
}

function byClass(workload, at) {
  const head = h("h3", {}, "Difference by class of operation"), { subject, baseline } = DATA.pair, sidesIn = (compiler) => [baseline, subject].map((name) => callsOf(workload, name, compiler)[0]);
  const compilers = unique(having(DATA.timeline.calls, { workload }).map((call) => call.compiler)).filter((compiler) => sidesIn(compiler).every(Boolean));
  if (!compilers.length) return [head, missing("No call of both programs was profiled.", "make paper")];
  const compiler = oneOf(at, "compiler", compilers), sides = sidesIn(compiler), [{ run, reference }] = sides;
  const rows = Object.entries(DATA.timeline.classes).map(([name, kind]) => ({ ...kind, ms: sides.map((call) => call[`${name}_ms`]), reference })).filter(({ ms }) => !ms.some(none));
  const signedMs = (ms) => `${ms < 0 ? "\u2212" : "+"}${number(Math.abs(ms))} ms`;
  return [head, h("div", { class: "bar" }, choice("compiler", compilers, compiler, (value) => go(at, { compiler: value }))),
    beside(msBars(rows.map((row) => ({ label: `${row.title}${signed(row)}`, from: 0, to: row.ms[1] - row.ms[0], ink: row.colour, about: signedMs(row.ms[1] - row.ms[0]) })), `ms, ${title(subject)} \u2212 ${title(baseline)}`),
      table(`A profiled call in ${compiler}${run ? `, run ${run}` : ""}`, [["Class", "title"], [`${title(baseline)}, ms`, (row) => number(row.ms[0]), "number"],
        [`${title(subject)}, ms`, (row) => number(row.ms[1]), "number"], ["Difference, ms", (row) => number(row.ms[1] - row.ms[0]), "number"]], rows)),
    sides.every((call) => call.profile_consistent) ? null : h("p", {}, "One of the profiled calls differs by more than a tenth from one without the profiler.")];
}

function closedBy({ subject, baseline }, workload, answers) {
  const head = h("h3", {}, "What closes the gap"), searched = having(DATA.causes, { workload });
  const command = `make explain PROGRAM=${workload} FRONTENDS=${baseline},${subject}`;
  return [head, searched.length ? causeTable("Gaps between replayed programs, and their causes", unnamed(searched).map(({ ratio, low, high, ...row }) => row)) : h("p", {}, "No two of its programs differ by more than the bound in one compiler."),
    answers.length ? h("p", {}, "Answers of make explain, in a measurement of their own: ", listOf(answers.map((row) => h("span", {}, link([row.title, row.compiler, row.other].filter(Boolean).join(", "), ["explained", row.name]), sign(row)))), ".") : null,
    answers.length || searched.some((row) => row.verdict) ? null : missing("Its cause was not searched.", command)];
}

// Of the normalised programs if there are any: they count what is computed, not how it is spelled.
async function named({ subject, baseline }, workload) {
  const head = h("h3", {}, "Which operations differ"), shown = DATA.programs.find((one) => one.workload === workload), forms = shown ? await unpack(shown.forms) : {};
  const form = ["normalised", "as emitted"].find((name) => forms[name] && [subject, baseline].every((side) => forms[name].sides[side]));
  if (!form) return [head, missing("The programs of the two are not in this report.", "make report")];
  const differing = kindRows([baseline, subject].map((side) => forms[form].sides[side].kinds)).filter(([, one, other]) => one !== other);
  return [head, h("p", {}, `Programs, ${form}. `, link("Both programs, line by line", ["programs", workload], [["form", form], ["lines", "both"], ["left", baseline], ["right", subject]]), "."),
    differing.length ? kindsTable(differing, [baseline, subject]) : h("p", {}, "Both have the same operations, each as often.")];
}

// The operation of a line of an optimised program that runs by itself, with its time; null for another line.
const operationAt = ({ texts, classes, sources, runs, taken }, side, line) => {
  if (line === null) return null;
  const text = texts[side][line], name = text.trim().replace(/^ROOT /, "").split(" = ")[0].replace(/^%/, ""), ms = taken[side].ms.get(name);
  const [, type, opcode] = text.match(/ = (\([^)]*\)|\S+) ([\w-]+)/) || [];
  return none(ms) || !runs[side][line].includes(name) ? null
    : { operation: opcode ? `${name}: ${opcode} ${type.replace(/\{[\d,]*\}/g, "")}` : name, kind: classes[side][line], ms, source: sources[side]?.[line] };
};

// The operations of both profiled calls by their rank, in a compiler that has both.
async function byRank(workload, names, forms) {
  const calls = names.map((name) => callsOf(workload, name).filter((call) => call.profile)), compiler = calls[0].map((call) => call.compiler).find((one) => calls[1].some((call) => call.compiler === one));
  if (!compiler) return { rows: [] };
  const sides = await Promise.all(calls.map(async (some, side) => {
    const { operations } = await unpack(some.find((call) => call.compiler === compiler).profile), sources = forms["as emitted"]?.sides[names[side]]?.sources || [];
    return operations.sort((a, b) => b[2] - a[2]).map(([name, kind, ms, text, line]) => ({ operation: text ? `${name}: ${text}` : name, kind, ms, source: sources[line - 1] }));
  }));
  return { compiler, rows: [...Array(Math.max(...sides.map((list) => list.length))).keys()].map((place) => sides.map((list) => list[place] || null)) };
}

async function longest(workload) {
  const head = h("h3", {}, "The operations that take most time"), names = [DATA.pair.baseline, DATA.pair.subject], program = DATA.programs.find((one) => one.workload === workload);
  const forms = program ? await unpack(program.forms) : {}, form = forms.optimised;
  const both = form && names.every((name) => form.sides[name]) ? await pairOf(form, program, names) : null, isMatched = Boolean(both) && both.taken.every(Boolean);
  const { compiler, rows: every } = isMatched ? { compiler: form.compiler, rows: both.pairs.map((pair) => pair.map((line, side) => operationAt(both, side, line))) }
    : await byRank(workload, names, forms);
  const most = (row) => Math.max(...some(row).map(({ ms }) => ms)), rows = every.filter((row) => some(row).length).sort((a, b) => most(b) - most(a)).slice(0, 10);
  if (!rows.length) return [head, missing("No profile of single operations of both programs is in this report.", "make paper")];
  const side = (name, place) => [[title(name), (row) => (row[place] ? row[place].operation : "\u2260 nothing opposite")], ["ms", (row) => number(row[place]?.ms), "number"], ["line", (row) => row[place]?.source, "keep"]];
  return [head, h("p", {}, `Of a profiled call in ${compiler}. `, ...(isMatched
    ? ["What computes the same in both stands in one row. ", link("The optimised programs", ["programs", workload], [["form", "optimised"], ["left", names[0]], ["right", names[1]]]), "."]
    : [`By rank: which of them compute the same is not known, for ${program?.not_optimised[names[1]] || "the optimised programs are not in this report"}. The last commands of this page make them.`])),
  table(`The ${rows.length} largest operations`, [...names.flatMap(side), ["Class", (row) => unique(some(row).map(({ kind }) => DATA.timeline.classes[kind].title)).join(" / ")]], rows)];
}

function byRun(compared, workload) {
  const head = h("h3", {}, "How noisy this number is"), { subject, baseline } = DATA.pair;
  const pooled = having(compared, { quantity: "steady", subject, baseline }).filter((row) => row.each.length);
  const rows = pooled.flatMap(({ each: every, reference }) => unique(every.map(([run]) => run)).map((run) => {
    const each = every.filter(([of]) => of === run), log = each.reduce((sum, [, , ratio]) => sum + Math.log(ratio), 0) / each.length;
    return { ...DATA.pair, run: run || "this run", ratio: Math.exp(log), each, machine: DATA.kinds[run], reference };
  }));
  if (!rows.length) return [head, missing("No run has rounds of its steady state.", "make paper")];
  const next = pooled.find((row) => !none(row.predicted_low)), band = next && [next.predicted_low, next.predicted_high];
  return [head, h("p", {}, "Large dots: the steady ratio of each run; small dots: of each round. ",
    band ? `Shaded: where one more run on ${next.machine ? `a machine of ${next.machine}` : "this machine"} is expected, ${interval(...band)}. ` : "Where one more run is expected is not known."),
  beside(forest(rows, { label: (row) => row.run, single: true, band, most: BESIDE }),
    table("The ratio of every run", ["Run", "Ratio", ["Rounds", (row) => row.each.filter(([, round]) => !none(round)).length || "", "number"], ["Machine of", "machine"]], rows)),
  h("p", {}, link("Every call of it", ["cells"], [["workload", workload]]))];
}

// The steady ratios of every framework over both, this run's before the reference's.
function others(compared) {
  const head = h("h3", {}, "Every framework"), { subject, baseline } = DATA.pair, found = {};
  const keep = (framework, side, row) => {
    const one = (found[framework] ??= { framework });
    if (!one[side] || isOther(one[side])) one[side] = row;
  };
  const turned = (row) => ({ ...row, ratio: 1 / row.ratio, ...(none(row.low) ? {} : { low: 1 / row.high, high: 1 / row.low }), verdict: { slower: "faster", faster: "slower" }[row.verdict] || row.verdict });
  for (const row of compared) {
    if (row.quantity === "steady" && row.baseline === baseline) keep(row.subject, "over_baseline", row);
    else if (row.quantity === "pairwise" && row.baseline === subject) keep(row.subject, "over_subject", row);
    else if (row.quantity === "pairwise" && row.subject === subject) keep(row.baseline, "over_subject", turned(row));
  }
  const rows = Object.values(found);
  if (!rows.length) return [head, missing("No other framework was measured.", "make study STUDIES=stacks")];
  const of = (key, name) => [[`Over ${title(name)}`, (row) => (row[key] ? h("span", {}, number(row[key].ratio), sign(row[key])) : ""), "number"],
    ["interval", (row) => (row[key] ? interval(row[key].low, row[key].high) : ""), "keep"], ["verdict", (row) => row[key]?.verdict]];
  return [head, table("Steady states, as ratios: faster is below 1", ["Framework", ...of("over_baseline", baseline), ...of("over_subject", subject)], rows),
    signLegend(rows.flatMap((row) => [row.over_baseline, row.over_subject]))];
}

function onTargets(compared, workload) {
  const { subject, baseline } = DATA.pair, memory = having(DATA.compiled, { workload, variant: "base" }).filter((row) => [subject, baseline].includes(row.framework));
  const head = h("h3", {}, "Does it fit, and who needs more"), place = (device, compiler) => `On ${device} (${compiler})`, amounts = { more: "more", less: "less", same: "as much, within 1 %" };
  if (!memory.length) return [head, missing("Its programs were compiled for no target.", `make paper WORKLOADS=${workload}`)];
  const needs = (row) => `${title(row.framework)}: ${row.verdict || row.status}${none(row.hbm_bytes) ? "" : ` and needs ${mib(row.hbm_bytes)} MiB`}`;
  const fits = unique(memory.map((row) => place(row.target, row.compiler))).map((on) => {
    const sides = [baseline, subject].flatMap((name) => memory.filter((row) => row.framework === name && place(row.target, row.compiler) === on));
    const both = having(compared, { quantity: "hbm", variant: "base", subject, baseline }).find((row) => place(row.device, row.compiler) === on);
    return `${on}: ${sides.map(needs).join(", ")}${amounts[both?.verdict] ? `; ${title(subject)} needs ${amounts[both.verdict]}` : ""}.${signed(sides[0])}`;
  });
  return [head, noTpuTime(), h("ul", {}, fits.map((text) => h("li", {}, text))), compiledTable("Memory on the targets", unnamed(memory))];
}

// The column of a time and what it is of, and so why it is not the same as another one of the workload.
const TIMES = { native: ["steady_ms", "the frameworks' own calls, in processes that alternate with their partner's"], replay: ["steady_ms", "the emitted programs in this compiler, without the frameworks"],
  profile: ["profiled_ms", "one call of the replayed programs under a profiler, which takes time itself"] };

function numbers(workload) {
  const { subject, baseline } = DATA.pair, calls = DATA.timeline.calls.map((call) => ({ ...call, mode: "profile" })), key = (row) => `${row.study} ${row.compiler}`;
  const every = having([...DATA.cells, ...calls], { workload, device: "cpu" });
  const rows = Object.entries(TIMES).flatMap(([mode, [column, what]]) => {
    const own = every.filter((row) => row.mode === mode && !none(row[column]));
    return unique(own.map(key)).flatMap((group) => {
      const [before, after] = [baseline, subject].map((name) => own.find((row) => row.framework === name && key(row) === group)), one = after || before;
      return one ? [{ what, compiler: one.compiler, before: before?.[column], after: after?.[column], run: one.run, reference: one.reference, study: one.study }] : [];
    });
  });
  // Two studies may share a cell: it is one time.
  const texts = rows.map(({ study, ...row }) => JSON.stringify(row)), times = rows.filter((_, place) => texts.indexOf(texts[place]) === place);
  return [h("h3", {}, "Which time is which"), times.length ? h("div", {}, h("p", {}, "Steady milliseconds of these two that the views show. They differ because they are of different runs, or of different things; only rows of one run may be compared."),
    table("Times of the two", [["Of", "what", "wide"], ["Study", "study"], "Compiler", [`${title(baseline)}, ms`, (row) => number(row.before, 4), "number"],
      [`${title(subject)}, ms`, (row) => number(row.after, 4), "number"], ["Run", (row) => row.run || "this run", "keep"]], times)) : h("p", {}, "No time of the two is known.")];
}
