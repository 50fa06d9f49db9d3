"""StableHLO programs: parse, normalise, find operations by structure, count, decide their form, draw.

It reads the text of any framework's program; its functions return counts, hashes and drawings.
`program_text`, `layout` and `element_types` need no MLIR bindings; the other modules run in the jax environment, which
has them.
"""
