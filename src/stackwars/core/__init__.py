"""Programs, compilers, judges and processes: what measuring, explaining and the study stand on.

It reads a StableHLO program (`program_text`, `program`, `mlir`) and compiles it (`compilers`) in a process of a
compiler's environment (`worker`), which a client commands and survives (`client`). It evaluates a program without a
compiler's optimisations (`evaluate`), judges values (`judge`), reads XLA's buffer assignment (`buffers`), names how a
process ended (`outcome`), estimates ratios (`ratio`), writes numbers as text (`numbers`) and lines for a terminal
(`lines`), and starts and limits processes (`launch`, `limits`).

It imports no other room. What a compiler's environment runs (`worker`, `compilers`, `mlir`, `hlo`, `buffers`) imports
NumPy and that compiler alone, so that releases of several years can run it.
"""
