# Checks of the harness itself: snakemake audits. They take some minutes on an idle machine, and no other target
# asks for them; the paper shows those that there are.
import hashlib

AUDITS = f"{ROOT}/audits"
# Where differences are looked for: on the quiet instrument, if there is one.
QUIET = "cpu-1t" if "cpu-1t" in config["devices"] else config["devices"][0]
# Basic operations of more than a millisecond, timed at the full sizes in every preset; pyperf is in the
# environment for the CPU alone.
TIMED_TWICE = [name for name in ("ffn", "mha", "conv") if name in config["workloads"]]
TIMED_BY = ["jax", "torch_xla"]


def audits_digest():
    """A digest of audits.json, or nothing: what is made from it is then made anew, and no audit is run."""
    path = Path(CELLS, "audits.json")
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12] if path.exists() else "none"


def audit_pins(wildcards):
    return cells.pins(config, wildcards.framework, wildcards.device)


def audit_dialect(wildcards):
    return config["frameworks"][wildcards.framework]["dialect"]


def audit_job(wildcards):
    """A Job of stackwars.measure.supervisor without a workload, as JSON."""
    kept = ("seed", "matmul_precision", "memory_cap_gib", "timeout_s", "parity_rel_l2")
    return json.dumps(
        {
            "framework": wildcards.framework,
            "dialect": audit_dialect(wildcards),
            "device": wildcards.device,
            "preset": config["preset"],
            "settings": {key: SETTINGS[key] for key in kept},
        },
        sort_keys=True,
    )


def audit_sources(module, workload=None):
    """Inputs of an audit: its own files, and those of the processes that it runs."""

    def found(wildcards):
        modules = [module, "stackwars.measure.child", f"stackwars.frameworks.{wildcards.framework}"]
        if workload:
            modules += [f"{workload}.in_{audit_dialect(wildcards)}", workload]
        return sources(*modules)

    return found


def audit_parts(wildcards):
    """Every part that is measured, of the frameworks and devices that this machine has."""
    pairs = {
        (cell.device, cell.framework)
        for cell in found_cells(wildcards)
        if "workloads" not in config["frameworks"][cell.framework]
    }
    # A slow device of the same kind adds nothing to what the quiet one shows of a mutant.
    broken = {pair for pair in pairs if pair[0] != "cpu" or QUIET == "cpu"}
    wanted = {
        "fences": pairs,
        "mutants": broken,
        "power": pairs & {(QUIET, config["baseline"])},
        "independent": pairs & {(QUIET, framework) for framework in TIMED_BY if QUIET in CPUS},
    }
    return [
        f"{AUDITS}/{name}/{device}/{framework}.json"
        for name, found in wanted.items()
        for device, framework in sorted(found)
    ]


rule audit_fences:
    input:
        audit_sources("stackwars.audits.fences", "stackwars.audits.workloads.ladder"),
        pins=audit_pins,
        peak=f"{ROOT}/{{device}}/peak.json",
    output:
        f"{AUDITS}/fences/{{device}}/{{framework}}.json",
    log:
        f"{ROOT}/logs/audits/fences/{{device}}/{{framework}}.txt",
    threads: workflow.cores
    params:
        dialect=audit_dialect,
        precision=SETTINGS["matmul_precision"],
    shell:
        "python -m stackwars.environments {input.pins} -- -m stackwars.audits.fences"
        " --framework {wildcards.framework} --dialect {params.dialect} --device {wildcards.device}"
        " --precision {params.precision} --peak {input.peak} --output {output} 2> >(tee {log} >&2)"


rule audit_mutants:
    input:
        audit_sources("stackwars.audits.mutants", "stackwars.workloads.gemm"),
        pins=audit_pins,
        peak=f"{ROOT}/{{device}}/peak.json",
    output:
        f"{AUDITS}/mutants/{{device}}/{{framework}}.json",
    log:
        f"{ROOT}/logs/audits/mutants/{{device}}/{{framework}}.txt",
    threads: workflow.cores
    params:
        job=audit_job,
        kept=lambda wildcards: f"{AUDITS}/kept/mutants-{wildcards.device}-{wildcards.framework}",
    shell:
        "python -m stackwars.audits.mutants --job {params.job:q} --pins {input.pins} --peak {input.peak}"
        " --folder {params.kept} --output {output} 2> >(tee {log} >&2)"


rule audit_power:
    input:
        audit_sources("stackwars.audits.power", "stackwars.audits.workloads.ladder"),
        pins=audit_pins,
    output:
        f"{AUDITS}/power/{{device}}/{{framework}}.json",
    log:
        f"{ROOT}/logs/audits/power/{{device}}/{{framework}}.txt",
    threads: workflow.cores
    params:
        job=audit_job,
        rounds=SETTINGS["audit_rounds"],
        kept=lambda wildcards: f"{AUDITS}/kept/power-{wildcards.device}-{wildcards.framework}",
    shell:
        "python -m stackwars.audits.power --job {params.job:q} --pins {input.pins}"
        " --rounds {params.rounds} --folder {params.kept} --output {output} 2> >(tee {log} >&2)"


rule audit_independent:
    input:
        audit_sources("stackwars.audits.independent"),
        lambda wildcards: sources(
            f"stackwars.audits.theirs_in_{audit_dialect(wildcards)}",
            *[f"stackwars.workloads.{name}.in_{audit_dialect(wildcards)}" for name in TIMED_TWICE],
        ),
        pins=audit_pins,
    output:
        f"{AUDITS}/independent/{{device}}/{{framework}}.json",
    log:
        f"{ROOT}/logs/audits/independent/{{device}}/{{framework}}.txt",
    threads: workflow.cores
    params:
        job=audit_job,
        sizes=json.dumps({name: config["presets"]["full"]["sizes"][name] for name in TIMED_TWICE}),
        turns=SETTINGS["audit_turns"],
        kept=lambda wildcards: f"{AUDITS}/kept/independent-{wildcards.device}-{wildcards.framework}",
    shell:
        "python -m stackwars.audits.independent --job {params.job:q} --pins {input.pins}"
        " --sizes {params.sizes:q} --turns {params.turns} --folder {params.kept} --output {output}"
        " 2> >(tee {log} >&2)"


rule audit_report:
    input:
        sources("stackwars.audits.report"),
        cpu=cell_files(cells_on_cpu(), "cell.json"),
        cells=result_files("cell.json"),
        replays=replay_files(),
        frame=f"{ROOT}/frame.csv",
        parts=audit_parts,
    output:
        f"{ROOT}/audits.json",
    log:
        f"{ROOT}/logs/audits/report.txt",
    params:
        config=CONFIG_JSON,
        results=ROOT,
        parts=lambda wildcards, input: [f"--part {path}" for path in input.parts],
    shell:
        "python -m stackwars.audits.report --config {params.config:q} --results {params.results}"
        " --frame {input.frame} {params.parts} --output {output} 2> >(tee {log} >&2)"


rule audits:
    input:
        f"{CELLS}/audits.json",
