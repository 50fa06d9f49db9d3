#!/bin/sh
# Writes every envs/<name>.txt from envs/<name>.in: all pins, with hashes, with no address in them.
# Usage: envs/lock.sh [name ...]        (needs uv, which the harness environment has)
set -eu
cd "$(dirname "$0")"
export UV_CUSTOM_COMPILE_COMMAND="envs/lock.sh"
# What others are constrained by comes first: a name without a dash before those that start with it.
[ $# -gt 0 ] || set -- $(ls *.in | sed 's/[.]in$//' | sort)
for name in "$@"; do
    uv pip compile --quiet --no-annotate --no-emit-index-url --no-emit-find-links --generate-hashes \
        --python-version 3.11 --python-platform x86_64-manylinux_2_31 \
        --output-file "$name.txt" "$name.in"
    echo "$name.txt: $(grep -c '==' "$name.txt") pins"
done
