# Every framework's program of a workload in one compiler: one job of fixed rounds, which a killed job finds again in
# rounds/. In the native compiler, the rounds are those of a cell, with the frameworks' own processes.

REPLAY = f"{ROOT}/replay/{{device}}/{{compiler}}/{{workload}}"


rule replay:
    input:
        programs=JOBS.replayed,
        check=f"{ROOT}/checks/{{compiler}}/{{workload}}/base/check.json",
        executables=f"{ROOT}/checks/{{compiler}}/{{workload}}/base/executables",
        expected=JOBS.expected,
        pins=JOBS.pins("replay"),
        taken=JOBS.taken,
        # Only the program of a cell and the floor of the machine are read: neither changes a replay's times.
        cells=ancient(JOBS.replayed_cells),
        peak=ancient(f"{ROOT}/{{device}}/peak.json"),
    output:
        result=f"{REPLAY}/replay.json",
        profile=f"{REPLAY}/profile.json",
    log:
        f"{ROOT}/logs/replay/{{device}}/{{compiler}}/{{workload}}.txt",
    priority: 1
    threads: EXCLUSIVE_THREADS
    resources:
        **EXCLUSIVE_NODE,
    params:
        sources=JOBS.digest("replay"),
        job=JOBS.spec("replay"),
        version=JOBS.version("replay"),
        taken=lambda wildcards, input: (f"--taken {input.taken}" if input.taken else ""),
    shell:
        "python -m stackwars.measure.stablehlo.replay_cell --job {params.job} --pins {input.pins}"
        " --peak {input.peak} {params.taken} --output $(dirname {output.result}) >{log} 2>&1"


# The causes of the gaps between the programs of a replay. Which gaps there are is known from the replay alone, so one
# job searches all of one workload in one compiler, or finds that there is none.
rule causes:
    input:
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
        sources=JOBS.digest("causes"),
        job=JOBS.spec("causes"),
        version=JOBS.version("causes"),
    shell:
        "python -m stackwars.study.replay_causes --job {params.job} --replay {input.replay}"
        " --output {output.result} --answers {output.answers} >{log} 2>&1"
