# What the audits need: the functions of audits.smk.
import hashlib

AUDITS = f"{ROOT}/audits"
# Where differences are looked for: on the quiet instrument, if there is one.
QUIET = "cpu-1t" if "cpu-1t" in config["devices"] else config["devices"][0]
# Basic operations of more than a millisecond, timed at the full sizes in every preset; pyperf is in the
# environment for the CPU alone.
TIMED_TWICE = [name for name in ("ffn", "mha", "conv") if name in config["workloads"]]
BASELINES = {pair.baseline for pair in comparisons(config, OF_CELLS)}


def has_audit_form(framework, pattern):
    """Whether an audit has a form in the framework's dialect; one that it has none in is not asked for it."""
    return Path(
        f"src/stackwars/audits/{pattern}in_{frameworks.load(framework).DIALECT}.py"
    ).exists()


def audits_digest():
    """A digest of audits.json, or nothing: what is made from it is then made anew, and no audit is run."""
    path = Path(CELLS, "audits.json")
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12] if path.exists() else "none"


def audit_pins(wildcards):
    known(wildcards)
    return cells.pins(config, wildcards.framework, wildcards.device)


def audit_dialect(wildcards):
    known(wildcards)
    return frameworks.load(wildcards.framework).DIALECT


def audit_job(wildcards):
    """A file of a ProcessJob of stackwars.measure.supervisor without a workload."""
    kept = (
        "seed",
        "matmul_precision",
        "memory_cap_gib",
        "timeout_s",
        "interleaved_slice_seconds",
        "parity_rel_l2",
    )
    return job_files.file(
        "audit",
        {
            "framework": wildcards.framework,
            "dialect": audit_dialect(wildcards),
            "device": wildcards.device,
            "preset": config["preset"],
            "settings": {key: SETTINGS[key] for key in kept},
        },
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
        and has_audit_form(cell.framework, "workloads/depth_scaling/")
    }
    # A slow device of the same kind adds nothing to what the quiet one shows of a mutant.
    broken = {pair for pair in pairs if pair[0] != CPU or QUIET == CPU}
    wanted = {
        "fences": pairs,
        "mutants": broken,
        "power": pairs & {(QUIET, base) for base in BASELINES},
        "aa_interleaved": {pair for pair in pairs if pair[0] == QUIET and pair[1] not in BASELINES},
        "independent": {
            (device, framework)
            for device, framework in pairs
            if device == QUIET and QUIET in CPUS and has_audit_form(framework, "third_party_")
        },
    }
    return [
        f"{AUDITS}/{name}/{device}/{framework}.json"
        for name, found in wanted.items()
        for device, framework in sorted(found)
    ]
