# Claims decided by what was found: all of them for the paper, or one from what it alone needs.


include: "claim_inputs.smk"


rule claims:
    input:
        sources("stackwars.claims.decide"),
        "config/claims.yaml",
        "workflow/schemas/claims.schema.yaml",
        findings=f"{OUT}/findings.json",
        frame=f"{OUT}/frame.csv",
        ratios=f"{OUT}/ratios.csv",
        context=f"{OUT}/context.json",
    output:
        f"{OUT}/claims.csv",
    log:
        f"{OUT}/logs/claims.txt",
    params:
        config=CONFIG,
        results=lambda wildcards: CELLS,
    shell:
        "python -m stackwars.claims.decide --config {params.config} --results {params.results}"
        " --findings {input.findings} --frame {input.frame} --ratios {input.ratios}"
        " --context {input.context} --output {output} >{log} 2>&1"


rule claim_tables:
    input:
        sources("stackwars.paper.tables.claims"),
        "config/claims.yaml",
        claims=f"{OUT}/claims.csv",
    output:
        directory(f"{OUT}/claim_tables"),
    log:
        f"{OUT}/logs/claim_tables.txt",
    params:
        config=CONFIG,
    shell:
        "python -m stackwars.paper.tables.claims --config {params.config} --claims {input.claims}"
        " --output-dir {output} >{log} 2>&1"


# In jax's environment, for the MLIR bindings.
rule claim_programs_form:
    input:
        sources("stackwars.results.program_metrics"),
        "envs/jax.txt",
        programs=lambda w: [f"{CELLS}/{p.path}/program.mlir.gz" for p in claim_programs(w)],
    output:
        metrics=f"{OUT}/claims/{{claim}}/ir_metrics.csv",
        structure=f"{OUT}/claims/{{claim}}/structure.csv",
    log:
        f"{OUT}/logs/claims/{{claim}}-form.txt",
    params:
        programs=lambda w: job_files.arguments(
            "metrics",
            [
                f"--program={p.workload}/{p.framework}={CELLS}/{p.path}/program.mlir.gz"
                for p in claim_programs(w)
            ],
        ),
        origin="measured" if MEASURED else "reference",
    shell:
        "python -m stackwars.setup.environments envs/jax.txt -- -m stackwars.results.program_metrics {params.programs}"
        " --metrics-output {output.metrics} --structure-output {output.structure}"
        " --origin {params.origin} 2> >(tee {log} >&2)"


rule claim_decision:
    input:
        claim_sources,
        "config/claims.yaml",
        "workflow/schemas/claims.schema.yaml",
        cells=claim_cells,
        others=claim_others,
        form=claim_form,
        devices=f"{CELLS}/devices.json",
        published="paper/published/tables.csv",
    output:
        f"{OUT}/claims/{{claim}}.json",
    log:
        f"{OUT}/logs/claims/{{claim}}.txt",
    params:
        config=CONFIG,
        results=lambda wildcards: CELLS,
        form=lambda wildcards, input: [
            f"--{name} {file}" for name, file in zip(("metrics", "structure"), input.form)
        ],
    shell:
        "python -m stackwars.claims.one {wildcards.claim} --config {params.config}"
        " --results {params.results} --published {input.published} {params.form}"
        " --output {output} 2> >(tee {log} >&2)"


# snakemake claim_<id>: what the claim needs, and then what became of it.
for decided in CLAIMS.claims:

    rule:
        name:
            f"claim_{decided.id}"
        input:
            f"{OUT}/claims/{decided.id}.json",
        log:
            f"{OUT}/logs/claims/{decided.id}-shown.txt",
        shell:
            "python -m stackwars.claims.show {input} 2>&1 | tee {log}"
