# From the measurements to the tables of the run.


# Every program of the run, or of one claim, is analysed in jax's environment, which has MLIR's bindings.
rule program_forms:
    input:
        pins="envs/jax.txt",
        programs=CLAIM_JOBS.programs,
    output:
        "{results}/program_forms.json",
    log:
        "{results}/logs/program_forms.txt",
    wildcard_constraints:
        results=f"{ROOT}|{CLAIM_JOBS.folder}/[a-z][a-z0-9_]*",
    group:
        "made"
    params:
        sources=step_digest("stackwars.study.results.program_forms", "stackwars.core.ir.__main__"),
        step=CLAIM_JOBS.args,
    shell:
        "python -m stackwars.study.results.program_forms {params.step} >{log} 2>&1"


# Its group is in the profiles of clusters: Snakemake 9.27 ends a dry run with a KeyError if a rule has one whose input
# awaits a checkpoint.
rule tables:
    input:
        COLUMNS,
        WORKLOADS,
        PUBLISHED,
        devices=f"{CELLS}/devices.json",
        peaks=lambda wildcards: GRID.peaks(GRID.available_cells()),
        # Without those of other devices, which are known late: the graph of jobs is planned sooner.
        cpu_cells=GRID.files(GRID.cpu_cells, "cell.json"),
        cells=GRID.available_files("cell.json", "output.npy"),
        replays=GRID.replays("replay.json", "profile.json"),
        causes=GRID.causes(),
        checks=GRID.checks(),
        releases=GRID.releases(),
        scaling_runs=GRID.scaling_runs(),
        sharded=GRID.sharded(),
        slices=GRID.slices(),
        compiled=GRID.compiled("ahead.json"),
        largest_batches=GRID.largest_batches(),
        program_forms=[f"{ROOT}/program_forms.json"] if GRID.base_programs() else [],
    output:
        [as_table(f"{ROOT}/{Path(path).name}") for path in GRID.result_paths(*MEASURED_TABLES)],
    log:
        f"{ROOT}/logs/tables.txt",
    params:
        sources=step_digest("stackwars.study.results.tables"),
        step=GRID.step_args,
    shell:
        "python -m stackwars.study.results.tables {params.step} >{log} 2>&1"


# The tables of a run, which can join the reference without a paper of their own, and what its report shows of programs.
rule results:
    input:
        GRID.optimised(),
        GRID.result_paths(*TABLES, "context"),
        GRID.result_paths("reproduction_text"),
