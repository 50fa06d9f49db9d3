# make paper   all set-up, then paper.pdf and report.html from cells measured here (WORKLOADS=gemm,mha: of these)
# make quick   the same shapes with fewer rounds: wider intervals, in about half an hour
# make stacks  every stack on every workload of that study, as a run of its own (WORKLOADS as above)
# make matrix  every frontend's program through every compiler, likewise
# make beyond  training, gradients, experts, sparse attention, loops and decoding, likewise
# make sharding  programs for several devices, run on the CPU's threads and compiled for slices of a TPU
# make smoke   the same grid with tiny shapes, in a few minutes
# make test    all set-up, then the tests
# make reference  paper.pdf and report.html from the committed run in results/reference, measuring nothing
# make report  report.html alone, of the full run made here (or RESULTS=reference)
# make audits  the harness checked: fences, mutants, A/A, power; the next paper shows what came of it
# make faults  breaks a smoke run in every way we know: what was lost, wrongly shown and told (results/faults.json)
# make accept  the full run that was made here (or RUN=<folder>) becomes one of the committed ones
# make compare RUN=results/full  what of the reference (or of WITH=<folder>) a run has found again; compare.html
#              draws the ratios of both
# make archive  every committed file in one, with its digest: what one would deposit
# make cluster  the workflow on a Slurm of two nodes, started here (as root, with its packages), and the profile of
#              Kubernetes with a stand-in for kubectl
# make plan    what a run would measure, and what it costs here
# make debian  `make smoke` in bare Debians, as root and as an ordinary user (as root, with debootstrap)

# A cell takes all cores, so cells never run side by side (but in smoke); two compilations for a target may.
SNAKEMAKE = .venv/bin/snakemake --cores all
PRESET ?= full

.PHONY: paper quick stacks matrix beyond sharding audits faults smoke test reference report accept archive compare plan debian cluster lint set-up

paper: set-up
	$(SNAKEMAKE) paper.pdf report.html $(if $(WORKLOADS),--config 'workloads=[$(WORKLOADS)]')

audits: set-up
	$(SNAKEMAKE) audits

# FAULTS="tex-missing link": only these, again.
faults: set-up
	PYTHONPATH=src:tests .venv/bin/python -m faults.run $(FAULTS)

quick: set-up
	$(SNAKEMAKE) paper.pdf report.html --config preset=quick

stacks matrix beyond sharding: set-up
	$(SNAKEMAKE) results --config 'whole=[$@]' $(if $(WORKLOADS),'workloads=[$(WORKLOADS)]')

smoke: set-up
	$(SNAKEMAKE) paper.pdf report.html --config preset=smoke

reference: set-up
	$(SNAKEMAKE) paper.pdf report.html --config results=reference

accept: set-up
	.venv/bin/python -m stackwars.workflow.accept $(RUN)

report: set-up
	$(SNAKEMAKE) report.html $(if $(RESULTS),--config results=$(RESULTS))

archive: set-up
	@.venv/bin/python -m stackwars.workflow.archive

compare: set-up
	@.venv/bin/python -m stackwars.claims.compare $(RUN) $(WITH)
	@.venv/bin/python -m stackwars.report.compare $(RUN) $(WITH)

plan: set-up
	@.venv/bin/python -m stackwars.workflow.plan --preset $(PRESET)

debian: set-up
	.venv/bin/python tests/debian/try_smoke.py

cluster: set-up
	STACKWARS_CLUSTER=1 .venv/bin/python -m pytest -rs tests/cluster

# Three tests at a time on two cores: many wait for a process. What times something runs alone, and again where it
# fails: a host that takes the cores away for seconds is no fault of the harness. A fault fails three times.
# A browser is for the tests alone, so that set-up does not bring it.
test: set-up lint
	@.venv/bin/python -m stackwars.setup.browser
	.venv/bin/python -m pytest -m "not alone" --numprocesses 3 --dist loadfile --no-loadscope-reorder
	.venv/bin/python -m pytest -m alone --reruns 2 --reruns-delay 20

lint: set-up
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	PYTHONPATH=src .venv/bin/lint-imports
	.venv/bin/snakefmt --check Snakefile workflow
	.venv/bin/snakemake --lint

set-up:
	@envs/setup.sh
