# Every framework's program of a workload in one compiler, with interleaved blocks. Measured like a cell,
# and among the cells: a replay stands beside the native processes that it is compared with.

REPLAY = f"{ROOT}/replay/{{device}}/{{compiler}}/{{workload}}"


rule replay_process:
    input:
        JOBS.sources("replay"),
        programs=JOBS.replayed,
        check=f"{ROOT}/checks/{{compiler}}/{{workload}}/base/check.json",
        executables=f"{ROOT}/checks/{{compiler}}/{{workload}}/base/executables",
        expected=JOBS.expected,
        pins=JOBS.pins("replay"),
    output:
        # Kept, unlike a cell's: a replay is also made from its cells, and made again when one of them is.
        directory(f"{REPLAY}/process-{{repetition}}"),
    log:
        f"{ROOT}/logs/replay/{{device}}/{{compiler}}/{{workload}}/process-{{repetition}}.txt",
    priority: 1
    threads: EXCLUSIVE_THREADS
    resources:
        **EXCLUSIVE_NODE,
    params:
        job=JOBS.spec("replay"),
        version=JOBS.version("replay"),
    shell:
        "python -m stackwars.measure.supervisor --child stackwars.compilers.replay --job {params.job}"
        " --pins {input.pins} --output {output} >{log} 2>&1"


rule replay:
    input:
        # In the first rounds only: its programs are interleaved in one process, which later rounds add little to.
        processes=[f"{REPLAY}/process-{repetition}" for repetition in range(SETTINGS["rounds"])],
        check=f"{ROOT}/checks/{{compiler}}/{{workload}}/base/check.json",
        cells=JOBS.replayed_cells,
        peak=f"{ROOT}/{{device}}/peak.json",
    output:
        result=f"{REPLAY}/replay.json",
        profile=f"{REPLAY}/profile.json",
    log:
        f"{ROOT}/logs/replay/{{device}}/{{compiler}}/{{workload}}/replay.txt",
    priority: 1
    threads: EXCLUSIVE_THREADS
    resources:
        **EXCLUSIVE_NODE,
    params:
        cells=JOBS.replayed_folders,
        version=JOBS.version("replay"),
    shell:
        "python -m stackwars.compilers.replay_cell {input.processes} {params.cells} --check {input.check}"
        " --peak {input.peak} --output {output.result} >{log} 2>&1"


# The causes of the gaps between the programs of a replay. Which gaps there are is known from the replay alone, so one
# job searches all of one workload in one compiler, or finds that there is none.
rule causes:
    input:
        JOBS.sources("causes"),
        replay=f"{ROOT}/replay/cpu/{{compiler}}/{{workload}}/replay.json",
        programs=JOBS.replayed,
        pins=JOBS.pins("causes"),
        evaluator=JOBS.evaluator_pins,
    output:
        result=f"{ROOT}/causes/{{compiler}}/{{workload}}/causes.json",
        answers=directory(f"{ROOT}/causes/{{compiler}}/{{workload}}/answers"),
    log:
        f"{ROOT}/logs/causes/{{compiler}}/{{workload}}.txt",
    # After everything that a round has.
    priority: -1_000_000_002
    threads: EXCLUSIVE_THREADS
    resources:
        **EXCLUSIVE_NODE,
    params:
        job=JOBS.spec("causes"),
        version=JOBS.version("causes"),
    shell:
        "python -m stackwars.explain.replay_causes --job {params.job} --replay {input.replay}"
        " --output {output.result} --answers {output.answers} >{log} 2>&1"
