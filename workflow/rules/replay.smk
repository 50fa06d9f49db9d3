# Every framework's program of a workload in one compiler, with interleaved blocks. Measured like a cell,
# and among the cells: a replay stands beside the native processes that it is compared with.

REPLAY = f"{ROOT}/replay/{{device}}/{{compiler}}/{{workload}}"


rule replay_process:
    input:
        COMPILER_JOBS.replay_sources,
        lambda wildcards: f"src/stackwars/workloads/{wildcards.workload}.py",
        COMPILER_JOBS.replayed,
        pins=COMPILER_JOBS.compiler_pins,
    output:
        # Kept, unlike a cell's: a replay is also made from its cells, and made again when one of them is.
        directory(f"{REPLAY}/process-{{repetition}}"),
    log:
        f"{ROOT}/logs/replay/{{device}}/{{compiler}}/{{workload}}/process-{{repetition}}.txt",
    priority: COMPILER_JOBS.replay_priority
    threads: EXCLUSIVE_THREADS
    params:
        job=COMPILER_JOBS.replay,
    shell:
        "python -m stackwars.compilers.replay_job --job {params.job} --pins {input.pins}"
        " --output {output} 2> >(tee {log} >&2)"


rule replay:
    input:
        sources("stackwars.compilers.replay_cell"),
        # In the first rounds only: its programs are interleaved in one process, which later rounds add little to.
        processes=[f"{REPLAY}/process-{repetition}" for repetition in range(SETTINGS["rounds_min"])],
        cells=COMPILER_JOBS.replayed_cells,
        peak=f"{ROOT}/{{device}}/peak.json",
    output:
        result=f"{REPLAY}/replay.json",
        profile=f"{REPLAY}/profile.json",
    log:
        f"{ROOT}/logs/replay/{{device}}/{{compiler}}/{{workload}}/replay.txt",
    priority: 1_000_000
    # As a cell: nothing may slip in between the processes of a round.
    threads: EXCLUSIVE_THREADS
    params:
        cells=COMPILER_JOBS.replayed_folders,
    shell:
        "python -m stackwars.compilers.replay_cell {input.processes} {params.cells}"
        " --peak {input.peak} --output {output.result} >{log} 2>&1"
