# Checks of the harness itself: snakemake audits. They take most of an hour on an idle machine, and no other
# target asks for them; the paper shows those that there are.

AUDITS = AUDIT_JOBS.folder


rule audit_fences:
    input:
        AUDIT_JOBS.sources("stackwars.audits.fences", "stackwars.audits.depth_scaling"),
        pins=AUDIT_JOBS.pins,
        peak=f"{ROOT}/{{device}}/peak.json",
    output:
        f"{AUDITS}/fences/{{device}}/{{framework}}.json",
    log:
        f"{ROOT}/logs/audits/fences/{{device}}/{{framework}}.txt",
    threads: workflow.cores
    params:
        dialect=AUDIT_JOBS.dialect,
        precision=SETTINGS["matmul_precision"],
    shell:
        "python -m stackwars.setup.environments {input.pins} -- -m stackwars.audits.fences"
        " --framework {wildcards.framework} --dialect {params.dialect} --device {wildcards.device}"
        " --precision {params.precision} --peak {input.peak} --output {output} 2> >(tee {log} >&2)"


rule audit_mutants:
    input:
        AUDIT_JOBS.sources("stackwars.audits.mutants", "stackwars.workloads.gemm"),
        pins=AUDIT_JOBS.pins,
        peak=f"{ROOT}/{{device}}/peak.json",
    output:
        f"{AUDITS}/mutants/{{device}}/{{framework}}.json",
    log:
        f"{ROOT}/logs/audits/mutants/{{device}}/{{framework}}.txt",
    threads: workflow.cores
    params:
        job=AUDIT_JOBS.job,
        kept=AUDIT_JOBS.kept("mutants"),
    shell:
        "python -m stackwars.audits.mutants --job {params.job} --pins {input.pins} --peak {input.peak}"
        " --folder {params.kept} --output {output} 2> >(tee {log} >&2)"


rule audit_power:
    input:
        AUDIT_JOBS.sources("stackwars.audits.power", "stackwars.audits.depth_scaling"),
        pins=AUDIT_JOBS.pins,
    output:
        f"{AUDITS}/power/{{device}}/{{framework}}.json",
    log:
        f"{ROOT}/logs/audits/power/{{device}}/{{framework}}.txt",
    threads: workflow.cores
    params:
        job=AUDIT_JOBS.job,
        rounds=AUDIT_JOBS.rounds,
        kept=AUDIT_JOBS.kept("power"),
    shell:
        "python -m stackwars.audits.power --job {params.job} --pins {input.pins}"
        " --rounds {params.rounds} --folder {params.kept} --output {output} 2> >(tee {log} >&2)"


rule audit_aa_interleaved:
    input:
        AUDIT_JOBS.sources("stackwars.audits.power", "stackwars.audits.depth_scaling"),
        pins=AUDIT_JOBS.pins,
    output:
        f"{AUDITS}/aa_interleaved/{{device}}/{{framework}}.json",
    log:
        f"{ROOT}/logs/audits/aa_interleaved/{{device}}/{{framework}}.txt",
    threads: workflow.cores
    params:
        job=AUDIT_JOBS.job,
        # Half as many: its processes start slowly.
        rounds=SETTINGS["audit_rounds"] // 2,
        kept=AUDIT_JOBS.kept("aa_interleaved"),
    shell:
        "python -m stackwars.audits.power --same --job {params.job} --pins {input.pins}"
        " --rounds {params.rounds} --folder {params.kept} --output {output} 2> >(tee {log} >&2)"


# The same of a compiler that replays a framework's programs: its process is another one than a cell's.
rule audit_replay_mutants:
    input:
        AUDIT_JOBS.replay_sources("stackwars.audits.mutants", "stackwars.workloads.gemm"),
        pins=AUDIT_JOBS.replay_pins,
        lower_pins=AUDIT_JOBS.lower_pins,
        peak=f"{ROOT}/{{device}}/peak.json",
    output:
        f"{AUDITS}/mutants/{{device}}/{{framework}}-{{compiler}}.json",
    log:
        f"{ROOT}/logs/audits/mutants/{{device}}/{{framework}}-{{compiler}}.txt",
    threads: workflow.cores
    params:
        job=AUDIT_JOBS.replay_job,
        kept=AUDIT_JOBS.kept("mutants"),
    shell:
        "python -m stackwars.audits.mutants --job {params.job} --pins {input.pins} --peak {input.peak}"
        " --folder {params.kept} --output {output} 2> >(tee {log} >&2)"


rule audit_replay_power:
    input:
        AUDIT_JOBS.replay_sources("stackwars.audits.power", "stackwars.audits.depth_scaling"),
        pins=AUDIT_JOBS.replay_pins,
        lower_pins=AUDIT_JOBS.lower_pins,
    output:
        f"{AUDITS}/power/{{device}}/{{framework}}-{{compiler}}.json",
    log:
        f"{ROOT}/logs/audits/power/{{device}}/{{framework}}-{{compiler}}.txt",
    threads: workflow.cores
    params:
        job=AUDIT_JOBS.replay_job,
        rounds=SETTINGS["audit_rounds"],
        kept=AUDIT_JOBS.kept("power"),
    shell:
        "python -m stackwars.audits.power --job {params.job} --pins {input.pins}"
        " --rounds {params.rounds} --folder {params.kept} --output {output} 2> >(tee {log} >&2)"


rule audit_independent:
    input:
        AUDIT_JOBS.sources("stackwars.audits.independent"),
        AUDIT_JOBS.third_party_sources,
        pins=AUDIT_JOBS.pins,
    output:
        f"{AUDITS}/independent/{{device}}/{{framework}}.json",
    log:
        f"{ROOT}/logs/audits/independent/{{device}}/{{framework}}.txt",
    threads: workflow.cores
    params:
        job=AUDIT_JOBS.job,
        sizes=AUDIT_JOBS.sizes(),
        processes=SETTINGS["audit_processes"],
        kept=AUDIT_JOBS.kept("independent"),
    shell:
        "python -m stackwars.audits.independent --job {params.job} --pins {input.pins}"
        " --sizes {params.sizes} --processes {params.processes} --folder {params.kept} --output {output}"
        " 2> >(tee {log} >&2)"


rule audit_report:
    input:
        sources("stackwars.audits.report"),
        cpu=GRID.files(GRID.cpu_cells, "cell.json"),
        cells=GRID.available_files("cell.json"),
        tables=[f"{ROOT}/{name}.csv" for name in ("cells", "rounds")],
        parts=AUDIT_JOBS.parts,
    output:
        f"{ROOT}/audits.json",
    log:
        f"{ROOT}/logs/audits/report.txt",
    params:
        step=GRID.arguments(CONFIG, ROOT, ROOT),
        parts=lambda wildcards, input: [f"--part {path}" for path in input.parts],
    shell:
        "python -m stackwars.audits.report {params.step} {params.parts} 2> >(tee {log} >&2)"


rule audits:
    input:
        f"{CELLS}/audits.json",
