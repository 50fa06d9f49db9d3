"""Programs, compilers, judges and processes, on which measuring, explaining and the study build.

It reads a StableHLO program (`program_text`, `program`, `mlir`) and compiles it (`compilers`) in a process of a
compiler's environment (`worker`), which a client commands and survives (`client`). It evaluates a program without a
compiler's optimisations (`evaluate`), judges values (`judge`), reads XLA's buffer assignment (`buffers`), names how a
process ended (`outcome`), estimates ratios (`ratio`), writes numbers as text (`numbers`) and lines for a terminal
(`lines`), and starts and limits processes (`launch`, `limits`).

It imports no other room. Modules that a compiler's environment runs (`worker`, `compilers`, `mlir`, `hlo`, `buffers`)
import NumPy and that compiler alone, so that releases of several years can run them.
"""
