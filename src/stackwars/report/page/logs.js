// The end of each process's log; open if the process did not end well.
function logs(processes) {
  const said = processes.filter((one) => (one.log || "").trim());
  return [h("h3", {}, "Logs"), said.length ? h("p", {}, "The last lines of each that is not empty, at most 20.") : h("p", {}, "Nothing was logged, or no log was kept."),
    ...said.map((one) => h("details", { open: one.status === "ok" ? null : "" }, h("summary", {}, `Round ${one.repetition + 1}: ${one.status}`),
      h("pre", { class: "scroll log", tabindex: "0", role: "region", "aria-label": `Log of round ${one.repetition + 1}` }, one.log)))];
}
