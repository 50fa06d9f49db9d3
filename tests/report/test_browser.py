"""Every view of the report in a real browser: Debian's chromium, headless. Skipped where there is none."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from stackwars.report.write import page

CHROMIUM = shutil.which("chromium")
HOSTILE = "</script><img src=x onerror=alert(1)> \"quoted\" 'too' \N{SNOWMAN}"
CELL = {
    **{"workload": "mha", "title": "MHA", "framework": "jax", "device": "cpu", "status": "ok"},
    **{"first_ms": 80.0, "second_ms": 3.0, "steady_ms": 2.0, "rounds": 3, "status_detail": ""},
    **{"steady_low_ms": 1.9, "steady_high_ms": 2.1, "stop_reason": "decided"},
}
FAILED = {**CELL, "title": HOSTILE, "status": "error", "status_detail": HOSTILE, "workload": "gemm"}
RATIO = {
    **{"workload": "mha", "title": "MHA", "device": "cpu", "framework": "torch_xla", "rounds": 3},
    **{"baseline": "jax", "steady_ratio": 1.5, "steady_ratio_low": 1.4, "steady_ratio_high": 1.6},
    "steady_verdict": "slower",
}
FORM = {
    "texts": [["%0 = a.b"], ["%0 = a.b", "%1 = c.d"]],
    "pairs": [[0, 0], [None, 1]],
    "share": 0.67,
}
DOCUMENT = {
    "meta": {"machine": {"cpu_model": "a processor", "cores": 2}, "preset": "full", "origin": "reference"},
    "frameworks": {
        "jax": {"title": "JAX", "colour": "#14213d"},
        "torch_xla": {"title": "torch_xla", "colour": "#c4571b"},
    },
    "cells": [CELL, FAILED],
    "details": {
        "cpu/jax/mha": {
            **{"sizes": {"batch": 2}, "versions": {"jax": "0.7.1"}},
            "processes": [{"repetition": 0, "status": "ok", "wall_s": 5.0, "peak_rss_bytes": 2**30}],
            "calls": [
                {"first": 80.0, "second": 3.0, "calls": 4, "blocks": [2.0, 2.1], "kept": "10"}
            ],
        }
    },
    "ratios": [RATIO],
    "matrix": [
        {
            **{"workload": "mha", "title": "MHA", "framework": "jax", "compiler": "an XLA"},
            **{"status": "ok", "replay_ms": 2.0, "over_best": 1.0},
        }
    ],
    "programs": [
        {"workload": "mha", "title": "MHA", "sides": ["jax", "torch_xla"], "forms": {"as emitted": FORM}}
    ],
    "claims": [
        {"id": "x", "origin": "ours", "sentence": "It holds.", "verdict": "supported", "evidence": "1 of 1"}
    ],
    "audits": [{"id": "fences", "title": "Fences", "verdict": "pass", "aim": "to wait", "detail": "it did"}],
}  # fmt: skip
VIEWS = {
    "": ["This run", "1.00\u00d7", "Without a result"],
    "cells?status=ok": ["1 of 2 cells", "MHA"],
    "cell/cpu/jax/mha": ["MHA, JAX, cpu", "logarithmic", "<circle", "batch 2", "snakemake"],
    "cell/cpu/jax/none": ["no such cell"],
    "comparisons?sort=effect": ["slower", "[1.40, 1.60]", "<line"],
    "programs/mha": ["67.0 % of both", "≠ %1 = c.d"],
    "claims": ["It holds.", "supported"],
    "audits": ["Fences", "it did"],
}


def opened(path: Path, view: str) -> str:
    """The page as it stands once its script has run. Fails where the console has an error."""
    done = subprocess.run(
        [
            *(CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"),
            *(f"--user-data-dir={path.parent / 'profile'}", "--virtual-time-budget=2000"),
            *("--dump-dom", f"{path.as_uri()}#{view}"),
        ],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    errors = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not errors, errors
    # What the script reads is in the page too.
    return re.sub(r'<script type="application/json".*?</script>', "", done.stdout, flags=re.DOTALL)


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
@pytest.mark.parametrize("view", VIEWS)
def test_view_opens_without_an_error(view, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(page(json.loads(json.dumps(DOCUMENT))))
    text = opened(path, view)
    for expected in VIEWS[view]:
        assert expected in text, view


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
def test_hostile_names_show_as_text(tmp_path):
    path = tmp_path / "report.html"
    path.write_text(page(DOCUMENT))
    text = opened(path, "")
    assert "<img" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in text
