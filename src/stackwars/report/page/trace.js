// The same calls as Chrome's trace events, which Perfetto opens: a process for each frontend, in microseconds.
function trace(shown) {
  const events = shown.flatMap((call, pid) => {
    const about = (name, told) => ({ ph: "M", pid, tid: 0, name, args: { name: told } });
    const event = (name, kind, ms, from, tid, args) => ({ ph: "X", pid, tid, name, cat: kind, ts: 1e3 * from, dur: 1e3 * ms, args });
    const rows = rowsOf(call.spans);
    let reached = 0;
    const sums = call.spans.length ? [] : Object.entries(call.parts).filter(([, { ms }]) => ms > 0).map(([kind, { ms, operations }]) => {
      reached += ms;
      const args = { operations, note: "the sum of its class; not when its operations ran" };
      return event(DATA.timeline.classes[kind].title, kind, ms, reached - ms, 0, args);
    });
    return [
      about("process_name", `${title(call.framework)}, ${call.compiler}`),
      about("thread_name", call.spans.length ? "operations" : "sums by class"),
      ...call.spans.map(([place, start, duration], at) => event(...call.operations[place].slice(0, 2), duration, start, rows[at], {})),
      ...sums,
    ];
  });
  return { traceEvents: events, displayTimeUnit: "ns" };
}
