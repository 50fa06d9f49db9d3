"""StableHLO programs: parse, normalise, find operations by structure, count, decide claims about form, draw.

It reads the text of programs, of any framework; its functions return counts, excerpts and hashes, and `graph`
writes the graphs.json that the paper's drawings are made from. `readback` and `layout` are plain text work
and run anywhere; the other modules need jaxlib's MLIR bindings, so they run in the jax environment.
"""
