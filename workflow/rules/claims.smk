# Claims decided from tables: all of them for the run and for the reference, or one from what it alone needs.


rule claims:
    input:
        WORKLOADS,
        FRAMEWORKS,
        PUBLISHED,
        "config/claims.yaml",
        "workflow/schemas/claims.schema.yaml",
        tables=[f"{{results}}/{Path(path).name}" for path in GRID.result_paths(*MEASURED_TABLES)],
    output:
        as_table("{results}/claims.csv"),
    log:
        "{results}/logs/claims.txt",
    # Most of what is left waits for it.
    priority: 2
    group:
        "made"
    params:
        sources=step_digest("stackwars.study.claims.decide"),
        step=lambda wildcards: GRID.args_of(wildcards.results),
    shell:
        "python -m stackwars.study.claims.decide {params.step} >{log} 2>&1"


# One claim from what it alone needs.
rule claim_decision:
    input:
        CLAIM_JOBS.workloads,
        FRAMEWORKS,
        COLUMNS,
        PUBLISHED,
        "config/claims.yaml",
        "workflow/schemas/claims.schema.yaml",
        results=CLAIM_JOBS.results,
        devices=f"{CELLS}/devices.json",
    output:
        f"{CLAIM_JOBS.folder}/{{claim}}.txt",
    log:
        f"{OUT}/logs/claims/{{claim}}.txt",
    params:
        sources=step_digest("stackwars.study.claims.decide"),
        step=GRID.step_args,
    shell:
        "python -m stackwars.study.claims.decide --claim {wildcards.claim} {params.step} >{log} 2>&1"


# snakemake claim_<id>: what the claim needs, and then its verdict.
for decided in CLAIMS.claims:

    rule:
        name:
            f"claim_{decided.id}"
        input:
            f"{CLAIM_JOBS.folder}/{decided.id}.txt",
        log:
            f"{OUT}/logs/claims/{decided.id}-shown.txt",
        shell:
            "tee {log} <{input}"
