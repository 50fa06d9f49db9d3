// The end of each process's log; open where the process did not end well.
function logs(processes) {
  const head = h("h3", {}, "Logs"), kept = processes.filter((one) => !none(one.log));
  if (!kept.length) return [head, h("p", {}, "Not recorded in this run.")];
  const said = kept.filter((one) => one.log.trim());
  const quiet = kept.length - said.length;
  return [
    head,
    said.length ? h("p", {}, "The last lines of each, at most 20.") : null,
    ...said.map((one) => h("details", { open: one.status === "ok" ? null : "" },
      h("summary", {}, `Round ${one.repetition + 1}: ${one.status}`),
      h("pre", { class: "scroll log", tabindex: "0", role: "region", "aria-label": `Log of round ${one.repetition + 1}` }, one.log))),
    quiet ? h("p", {}, said.length ? `Of ${kept.length} logs ${quiet} are empty.` : "Nothing was logged.") : null,
  ];
}
