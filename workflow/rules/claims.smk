# Claims decided by what was found: all of them for the paper, or one from what it alone needs.


rule claims:
    input:
        sources(*STEPS["claims"]),
        "config/claims.yaml",
        "workflow/schemas/claims.schema.yaml",
        GRID.made(*COMPARED, "frame", "ratios", "context", "held_out", "fused"),
        GRID.made("op_times", "gap_causes"),
        GRID.made("stacks", "beyond", "growth", "shapes", "sharding"),
        GRID.made("matrix", "matrix_effects", "matrix_subsets"),
        GRID.reference(),
        "paper/published/tables.csv",
        "paper/published/lecture.csv",
    output:
        GRID.made("findings", "claims", "reproduction", "reproduction_text"),
    log:
        f"{OUT}/logs/claims.txt",
    # Most of what is left waits for it.
    priority: 2
    params:
        step=GRID.step,
        modules=STEPS["claims"],
        # The audits are read where there are any; not an input, for nobody has to run them.
        digest=AUDIT_JOBS.digest(),
    shell:
        "python -m stackwars.workflow.steps {params.modules} {params.step} >{log} 2>&1"


# In jax's environment, for the MLIR bindings.
rule claim_programs_form:
    input:
        sources("stackwars.results.program_metrics"),
        "envs/jax.txt",
        lambda wildcards: GRID.texts(CLAIM_JOBS.programs(wildcards)),
        CLAIM_JOBS.form_compilations,
    output:
        CLAIM_JOBS.form_files,
    log:
        f"{OUT}/logs/claims/{{claim}}-form.txt",
    params:
        step=CLAIM_JOBS.form_step,
    shell:
        "python -m stackwars.setup.environments envs/jax.txt -- -m stackwars.results.program_metrics"
        " {params.step} 2> >(tee {log} >&2)"


rule claim_decision:
    input:
        CLAIM_JOBS.sources,
        "config/claims.yaml",
        "workflow/schemas/claims.schema.yaml",
        CLAIM_JOBS.cells,
        CLAIM_JOBS.others,
        CLAIM_JOBS.form,
        f"{CELLS}/devices.json",
        "paper/published/tables.csv",
    output:
        f"{OUT}/claims/{{claim}}.json",
        f"{OUT}/claims/{{claim}}.txt",
    log:
        f"{OUT}/logs/claims/{{claim}}.txt",
    params:
        step=GRID.step,
    shell:
        "python -m stackwars.claims.one {wildcards.claim} {params.step} 2> >(tee {log} >&2)"


# snakemake claim_<id>: what the claim needs, and then what became of it.
for decided in CLAIMS.claims:

    rule:
        name:
            f"claim_{decided.id}"
        input:
            f"{OUT}/claims/{decided.id}.txt",
        log:
            f"{OUT}/logs/claims/{decided.id}-shown.txt",
        shell:
            "tee {log} <{input}"
