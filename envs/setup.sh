#!/bin/sh
# Sets up what every command needs: checks this machine, then builds the harness environment as .venv. The environments
# of frameworks and compilers are built by the run that needs them; STUDIES names those that the disk must have room for.
# Repeated, it does nothing.
set -eu
cd "$(dirname "$0")/.."

# The first Python of a version that torch_xla has wheels for; the distribution's own after that in use.
find_python() {
    for candidate in ${PYTHON:-} python3 /usr/bin/python3 python3.13 python3.12 python3.11; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'; then
            # The base Python, because an active environment may be the one that is about to be removed.
            "$candidate" -c 'import sys; print(sys._base_executable)'
            return
        fi
    done
    echo "set-up: expected Python 3.11, 3.12 or 3.13 (torch_xla 2.9.0 has no wheels for others), got" \
        "$(python3 --version 2>&1); fix: install one, or name it: make PYTHON=/path/to/python3.12 ..." >&2
    exit 1
}

# No absolute path of this checkout is written into .venv, so that it works after a move and in a copy: scripts are
# relocatable, and the package is found by a path relative to the environment.
build() {
    echo "[set-up] building the harness environment with $("$python" --version) ..." >&2
    rm -rf .venv
    "$python" -m venv .venv
    # uv alone from pip, in the pinned version; uv then installs all pins in seconds.
    awk '/^uv==/ {on = 1} on {print} on && !/\\$/ {exit}' envs/harness.txt >.venv/uv.txt
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .venv/uv.txt
    .venv/bin/uv venv --quiet --allow-existing --relocatable --python "$python" .venv
    UV_COMPILE_BYTECODE=${UV_COMPILE_BYTECODE:-1} .venv/bin/uv pip sync --quiet --require-hashes --python .venv/bin/python envs/harness.txt
    rm .venv/bin/activate.csh # the only file with an absolute path
    .venv/bin/python -c 'import pathlib, site; pathlib.Path(site.getsitepackages()[0], "stackwars.pth").write_text("../../../../src\n")'
}

python=$(find_python)
PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1 "$python" -m stackwars.setup.preflight
pins=$( (cat envs/harness.txt envs/setup.sh; "$python" -c 'import sys; print(sys.version_info[:2])') | cksum | tr -d ' ')
place=$(pwd -P | cksum | tr -d ' ')
ready=$(cat .venv/ready 2>/dev/null || true)
if [ "$ready" = "$pins $place" ] && [ -x .venv/bin/python ]; then
    exit
elif [ "${ready% *}" = "$pins" ] && .venv/bin/snakemake --version >/dev/null 2>&1; then
    echo "[set-up] this checkout was moved or copied: its environment works here as it did there" >&2
else
    build
fi
echo "$pins $place" >.venv/ready
