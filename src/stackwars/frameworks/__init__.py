"""Ways to compile and run a dialect: one small file each, all with the same verbs.

Every module here has a class `Session(device, precision)` whose constructor imports the framework
and raises RuntimeError where the device is absent. Only the process of a cell makes one. Its verbs,
in the order in which a cell uses them:

    put(array)        place a NumPy array on the device; the host copy may die afterwards
    build(build, sizes, seed, inputs)
                      make the workload from its dialect's `build`; place every set of inputs in the list
    settle()          wait until weights and inputs are on the device
    call(which)       start one forward pass on that set of inputs, return its output (not yet computed)
    fence(output)     return only when the device has finished the output
    fetch(output)     the output's values as a NumPy array
    counters()        cumulative Counters
    stablehlo()       StableHLO text of what call(0) runs
    device_kind()     what the framework calls the device
    versions()        package versions, {name: version}
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Counters:
    """What a framework says that it has done since it was loaded.

    compiles: executables built. cache_hits: executables that came from a cache on disk instead.
    trace_s, compile_s: seconds spent tracing (and lowering to StableHLO, where the framework tells it)
    and compiling; None where it does not tell.
    """

    compiles: int
    cache_hits: int
    trace_s: float | None
    compile_s: float | None

    def since(self, earlier: Counters) -> Counters:
        """What was done between the earlier reading and this one."""

        def difference(now: float | None, then: float | None) -> float | None:
            return None if now is None or then is None else now - then

        return Counters(
            self.compiles - earlier.compiles,
            self.cache_hits - earlier.cache_hits,
            difference(self.trace_s, earlier.trace_s),
            difference(self.compile_s, earlier.compile_s),
        )
