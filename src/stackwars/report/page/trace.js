// Calls of known operations as Chrome's trace events, which Perfetto opens: a process for each frontend, in microseconds.
// Numbers of processes and threads begin at 1 and no thread has that of another, for Perfetto gives 0 a meaning of
// its own and finds the name of a thread by its number alone.
function trace(shown) {
  let threads = 0;
  const events = shown.flatMap((call, place) => {
    const pid = place + 1, rows = rowsOf(call.spans), first = threads + 1, count = 1 + Math.max(0, ...rows);
    threads += count;
    const about = (name, tid, args) => ({ ph: "M", pid, tid, name, args });
    const event = (name, kind, from, to, row) => ({ ph: "X", pid, tid: first + row, name, cat: kind, ts: microseconds(from), dur: microseconds(to - from), args: {} });
    return [
      about("process_name", first, { name: `${title(call.framework)}, ${call.compiler}` }),
      about("process_sort_index", first, { sort_index: pid }),
      ...[...Array(count).keys()].map((row) => about("thread_name", first + row, { name: row ? `operations, row ${row + 1}` : "operations" })),
      ...call.spans.map(([at, start, duration], span) => event(...call.operations[at].slice(0, 2), nanoseconds(start), nanoseconds(start + duration), rows[span])),
    ];
  });
  return { traceEvents: events, displayTimeUnit: "ns" };
}

const nanoseconds = (ms) => Math.round(1e6 * ms);

// Perfetto cuts a thousand times this off to whole nanoseconds: one less would let two neighbours overlap.
const microseconds = (ns) => (Math.trunc((ns / 1e3) * 1e3) < ns ? (ns / 1e3) * (1 + Number.EPSILON) : ns / 1e3);
