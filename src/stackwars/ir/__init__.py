"""StableHLO programs: read, find operations by structure, count, print.

`readback` and `layout` are plain text work and run anywhere; the other modules need jaxlib's MLIR
bindings, so they run in the jax environment, on the text of every framework.
"""
