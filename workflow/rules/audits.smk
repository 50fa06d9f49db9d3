# Checks of the harness itself: snakemake audits. They take some minutes on an idle machine, and no other target
# asks for them; the paper shows those that there are.


include: "audit_inputs.smk"


rule audit_fences:
    input:
        audit_sources("stackwars.audits.fences", "stackwars.audits.workloads.depth_scaling"),
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
        "python -m stackwars.setup.environments {input.pins} -- -m stackwars.audits.fences"
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
        "python -m stackwars.audits.mutants --job {params.job} --pins {input.pins} --peak {input.peak}"
        " --folder {params.kept} --output {output} 2> >(tee {log} >&2)"


rule audit_power:
    input:
        audit_sources("stackwars.audits.power", "stackwars.audits.workloads.depth_scaling"),
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
        "python -m stackwars.audits.power --job {params.job} --pins {input.pins}"
        " --rounds {params.rounds} --folder {params.kept} --output {output} 2> >(tee {log} >&2)"


rule audit_aa_interleaved:
    input:
        audit_sources("stackwars.audits.aa_interleaved", "stackwars.audits.workloads.depth_scaling"),
        pins=audit_pins,
    output:
        f"{AUDITS}/aa_interleaved/{{device}}/{{framework}}.json",
    log:
        f"{ROOT}/logs/audits/aa_interleaved/{{device}}/{{framework}}.txt",
    threads: workflow.cores
    params:
        job=audit_job,
        # Half as many: its processes start slowly.
        rounds=SETTINGS["audit_rounds"] // 2,
        kept=lambda wildcards: f"{AUDITS}/kept/aa_interleaved-{wildcards.device}-{wildcards.framework}",
    shell:
        "python -m stackwars.audits.aa_interleaved --job {params.job} --pins {input.pins}"
        " --rounds {params.rounds} --folder {params.kept} --output {output} 2> >(tee {log} >&2)"


rule audit_independent:
    input:
        audit_sources("stackwars.audits.independent"),
        lambda wildcards: sources(
            f"stackwars.audits.third_party_in_{audit_dialect(wildcards)}",
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
        sizes=job_files.file(
            "sizes", {name: config["presets"]["full"]["sizes"][name] for name in TIMED_TWICE}
        ),
        processes=SETTINGS["audit_processes"],
        kept=lambda wildcards: f"{AUDITS}/kept/independent-{wildcards.device}-{wildcards.framework}",
    shell:
        "python -m stackwars.audits.independent --job {params.job} --pins {input.pins}"
        " --sizes {params.sizes} --processes {params.processes} --folder {params.kept} --output {output}"
        " 2> >(tee {log} >&2)"


rule audit_report:
    input:
        sources("stackwars.audits.report"),
        cpu=cell_files(cells_on_cpu(), "cell.json"),
        cells=result_files("cell.json"),
        processes=f"{ROOT}/processes.csv",
        replayed=f"{ROOT}/replayed.csv",
        frame=f"{ROOT}/frame.csv",
        parts=audit_parts,
    output:
        f"{ROOT}/audits.json",
    log:
        f"{ROOT}/logs/audits/report.txt",
    params:
        config=CONFIG,
        results=lambda wildcards: ROOT,
        parts=lambda wildcards, input: [f"--part {path}" for path in input.parts],
    shell:
        "python -m stackwars.audits.report --config {params.config} --results {params.results}"
        " --frame {input.frame} {params.parts} --output {output} 2> >(tee {log} >&2)"


rule audits:
    input:
        f"{CELLS}/audits.json",
