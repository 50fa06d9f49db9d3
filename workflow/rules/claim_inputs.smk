# What one claim needs, for the rules of claims.smk.

from stackwars.claims import definitions, needs

try:
    CLAIMS = definitions.load()
except definitions.ClaimError as error:
    raise WorkflowError(str(error)) from None


wildcard_constraints:
    claim="[a-z][a-z0-9_]*",


def claim_of(wildcards):
    """The claim of a target; refused where the configuration lacks what it needs."""
    claim = CLAIMS.claim(wildcards.claim)
    try:
        needs.check(config, claim)
    except definitions.ClaimError as error:
        raise WorkflowError(str(error)) from None
    return claim


def claim_sources(wildcards):
    """What decides the claim, and what puts together the results that it needs."""
    chosen = needs.restricted(config, claim_of(wildcards))
    return [
        *sources("stackwars.claims.one"),
        *(f"src/stackwars/workloads/{name}/__init__.py" for name in chosen["workloads"]),
    ]


def claim_cells(wildcards):
    """Files of its cells on the devices that this machine has; the CPU's are known without asking."""
    wanted = needs.needed_cells(config, claim_of(wildcards))
    found = [cell for cell in cells_on_cpu() if cell in wanted]
    if any(cell.device not in CPUS for cell in wanted):
        found = [cell for cell in found_cells(wildcards) if cell in wanted]
    return [
        *(file for name in ("cell.json", "output.npy") for file in cell_files(found, name)),
        *sorted({f"{CELLS}/{cell.device}/peak.json" for cell in found}),
    ]


def claim_others(wildcards):
    """Its replays, compilations and searches; of the reference run, those that it has."""
    claim = claim_of(wildcards)
    return kept(
        [
            *(r.path / "replay.json" for r in needs.needed_replays(config, claim)),
            *(c.path / "ahead.json" for c in needs.needed_compilations(config, claim)),
            *(c.largest_batch_path for c in needs.needed_largest_batches(config, claim)),
            *(["audits.json"] if "audits" in claim.needs["stages"] else []),
        ]
    )


def claim_programs(wildcards):
    """The programs whose form it is about."""
    return existing(needs.needed_programs(config, claim_of(wildcards)))


def claim_form(wildcards):
    """The tables of the programs' form, for a claim that is about it."""
    names = ("ir_metrics.csv", "structure.csv") if claim_programs(wildcards) else ()
    return [f"{OUT}/claims/{wildcards.claim}/{name}" for name in names]
