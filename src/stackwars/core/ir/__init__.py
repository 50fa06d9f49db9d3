"""StableHLO programs of any framework, by MLIR bindings: normal form, canonical hash, counts, claims, drawings.

The modules run in the jax environment, which has the bindings; `stackwars.core` reads and cuts programs as text.
"""
