#!/bin/sh
# Writes every envs/<name>.txt from envs/<name>.in: all pins, with hashes, with no address in them.
# Usage: envs/lock.sh [name ...]        (needs uv, which the harness environment has)
set -eu
cd "$(dirname "$0")"
export UV_CUSTOM_COMPILE_COMMAND="envs/lock.sh"
[ $# -gt 0 ] || set -- harness jax jax-cuda jax-tpu torch_xla torch_xla-tpu xla-0.7.1 xla-0.10.2 xla-cuda
for name in "$@"; do
    uv pip compile --quiet --no-annotate --no-emit-index-url --no-emit-find-links --generate-hashes \
        --python-version 3.11 --python-platform x86_64-manylinux_2_31 \
        --output-file "$name.txt" "$name.in"
    echo "$name.txt: $(grep -c '==' "$name.txt") pins"
done
