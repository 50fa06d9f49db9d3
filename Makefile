# make paper      all set-up, then paper.pdf and report.html from cells measured here: the original's study
#                 STUDIES=stacks,matrix,beyond adds studies to it; WORKLOADS=gemm,mha measures these alone
# make study      STUDIES=matrix: measures these studies alone, as a run of its own with tables and no paper
# make quick      the same shapes with fewer rounds: wider intervals
# make smoke      tiny shapes, in a few minutes: shows that everything works
# make test       all set-up, then the tests
# make test-faults  injects faults into copies of a smoke run (FAULTS="tex-missing link": these alone)
# make reference  paper.pdf and report.html from the committed runs in results/reference, measuring nothing
# make report     report.html alone, of the full run made here (or RESULTS=reference)
# make audits     checks the harness: fences, mutants, A/A, power; the next paper shows the outcome
# make accept     adds the full run that was made here (or RUN=<folder>) to the committed ones
# make compare    RUN=results/full: which results of the reference (or of WITH=<folder>) a run reproduces; compare.html
#                 draws the ratios of both
# make archive    every committed file in one, with its digest: what one would deposit
# make cluster    the workflow on a Slurm of two nodes, started here (as root, with its packages), and the profile of
#                 Kubernetes with a stand-in for kubectl
# make plan       what a run would measure, and what it costs here (PRESET, STUDIES)
# make debian     `make smoke` in bare Debians, as root and as an ordinary user (as root, with debootstrap)

# A cell takes all cores, so cells never run side by side (but in smoke); two compilations for a target may.
SNAKEMAKE = .venv/bin/snakemake --cores all
PRESET ?= full
COMMA = ,
ADDED_STUDIES = 'measure=[tables,$(STUDIES)]'
CHOSEN_WORKLOADS = $(if $(WORKLOADS),'workloads=[$(WORKLOADS)]')
CHOSEN = $(strip $(if $(STUDIES),$(ADDED_STUDIES)) $(CHOSEN_WORKLOADS))

.PHONY: paper study audits smoke quick test test-faults reference report accept archive compare plan debian cluster lint set-up

paper: set-up
	$(SNAKEMAKE) $(if $(CHOSEN),--config $(CHOSEN))

study: set-up
	$(if $(STUDIES),,$(error expected make study STUDIES=<names of studies>, got none))
	$(SNAKEMAKE) results --config 'measure=[$(STUDIES)]' $(CHOSEN_WORKLOADS)

quick smoke: set-up
	$(SNAKEMAKE) --config preset=$@ $(CHOSEN_WORKLOADS)

audits: set-up
	$(SNAKEMAKE) audits

test-faults: set-up
	PYTHONPATH=src:tests .venv/bin/python -m faults.run $(FAULTS)

reference: set-up
	$(SNAKEMAKE) --config results=reference

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
	@.venv/bin/python -m stackwars.workflow.plan --preset $(PRESET) --studies $(subst $(COMMA), ,$(STUDIES))

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
