#!/bin/sh
# All set-up that the paper and the tests need: a check of this machine, then the harness environment as
# .venv. The frameworks' environments are built when the first cell needs them. Run again, it does nothing.
set -eu
cd "$(dirname "$0")/.."

# The first Python of a version that torch_xla has wheels for; the distribution's own after that in use.
find_python() {
    for candidate in ${PYTHON:-} python3 /usr/bin/python3 python3.13 python3.12 python3.11; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'; then
            # Not the environment's own name of it, which is about to be removed where it is active.
            "$candidate" -c 'import sys; print(sys._base_executable)'
            return
        fi
    done
    echo "set-up: expected Python 3.11, 3.12 or 3.13 (torch_xla 2.9.0 has no wheels for others); found" \
        "$(python3 --version 2>&1). Install one, or name it: make PYTHON=/path/to/python3.12 ..." >&2
    exit 1
}

python=$(find_python)
PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1 "$python" -m stackwars.setup.preflight
key=$( (cat envs/harness.txt; "$python" -c 'import sys; print(sys.version_info[:2])') | cksum | tr -d ' ')
if [ "$(cat .venv/ready 2>/dev/null || true)" != "$key" ]; then
    echo "[set-up] building the harness environment with $("$python" --version) ..." >&2
    rm -rf .venv
    "$python" -m venv .venv
    # uv alone from pip, in the pinned version; uv then installs all pins in seconds.
    awk '/^uv==/ {on = 1} on {print} on && !/\\$/ {exit}' envs/harness.txt >.venv/uv.txt
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .venv/uv.txt
    UV_COMPILE_BYTECODE=${UV_COMPILE_BYTECODE:-1} .venv/bin/uv pip sync --quiet --require-hashes --python .venv/bin/python envs/harness.txt
    .venv/bin/python -c 'import pathlib, site; pathlib.Path(site.getsitepackages()[0], "stackwars.pth").write_text(str(pathlib.Path("src").resolve()))'
    echo "$key" >.venv/ready
fi
