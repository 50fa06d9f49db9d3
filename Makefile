# make reference    30 s: paper.pdf and report.html from the committed runs,
#                   without measuring
# make explain      PROGRAM=softmax.py: in which frontend and compiler it is
#                   slow, wrong or fails, and why (or A=slow.mlir B=fast.mlir;
#                   COMPILERS=, FRONTENDS=, BOUND=0.1, INPUTS=x.npz, ASK=memory
#                   or compile; BUNDLE=yes or anonymous: an archive to send);
#                   RUN=train.py ARGS="...": the hottest module that a script
#                   compiles (AGAINST=other.py, RUN_PYTHON=, VALUES=1), or of
#                   a dump (DUMP=folder)
# make paper        paper.pdf and report.html from cells measured here: the
#                   original's study (STUDIES=stacks,matrix,beyond adds studies;
#                   WORKLOADS=gemm,mha measures these workloads alone;
#                   MINUTES=15 the part that fits into them, and more minutes
#                   later add to it)
# make test         lint and all tests
# make plan         what a run would measure here, and its time, memory and disk
#                   (PRESET, STUDIES, MINUTES)
# make smoke        seven of the thirteen studies with tiny shapes, to show that
#                   everything works (WORKLOADS too)
# make study        STUDIES=matrix: measures these studies alone, as a run of its
#                   own with tables and no paper
# make releases     PROGRAM=x.py (or slow.mlir, or mha): which release of XLA or
#                   IREE made it faster, slower or wrong (ORDER=all, or
#                   RELEASES="0.8.3, 0.7.2 --xla_flag=value": these of jaxlib)
# make radar        which versions on the package index are newer than the pins,
#                   and which committed programs new releases of XLA and IREE
#                   make slower or wrong (PROGRAMS=gemm-jax,shift_rows: these)
# make report       report.html alone, of the full run made here (or
#                   RESULTS=reference)
# make audits       checks the harness for the run made here: fences, mutants,
#                   A/A, power; the next paper shows it
# make compare      RUN=results/full: which results of the reference (or of
#                   WITH=<folder>) a run reproduces
# make accept       adds the full run made here (or RUN=<folder>) to the
#                   committed runs
# make archive      packs every committed file into one and prints its digest
# make test-fast    the tests that run no workflow, start no framework and time
#                   nothing
# make cluster      tests the workflow on a Slurm of two nodes that it starts
#                   here (as root)
# make debian       tests the container's script and `make smoke` in bare
#                   Debians, as root and as an ordinary user (as root)
# make lint         runs the linters
# make set-up       sets up the harness; every other command begins with this
#                   (STUDIES=tables,matrix: also builds what these studies run
#                   in, which a run does otherwise; all: every study)

# Hundreds of processes import the same packages: Python compiles them once, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE
# A cell takes all cores, so cells never run side by side (but in smoke); two compilations for a target may.
SNAKEMAKE = .venv/bin/snakemake --cores all
PRESET ?= full
COMMA = ,
ASKED_STUDIES = $(subst $(COMMA), ,$(STUDIES))
ADDED_STUDIES = 'measure=[tables$(addprefix $(COMMA),$(filter-out tables,$(ASKED_STUDIES)))]'
CHOSEN_WORKLOADS = $(if $(WORKLOADS),'workloads=[$(WORKLOADS)]')
# Options of make explain: the program, and some of the configuration's frontends and compilers.
# A file's name may have any character: `value` leaves the dollar signs, and the shell gets it in quotes.
quoted = $(if $(value $1),$2'$(subst ','\'',$(value $1))')
EXPLAINED = $(call quoted,COMPILERS,--compilers=) $(call quoted,FRONTENDS,--frontends=) $(call quoted,BOUND,--bound=) $(call quoted,ASK,--ask=) \
    $(call quoted,INPUTS,--inputs=) $(call quoted,BUNDLE,--bundle=) $(call quoted,DUMP,--hlo-dump=) $(if $(value RUN),$(CAPTURED),-- $(call quoted,PROGRAM) $(call quoted,A) $(call quoted,B))
CAPTURED = $(call quoted,AGAINST,--against=) $(call quoted,RUN_PYTHON,--python=) $(if $(VALUES),--values) --run $(call quoted,RUN) $(ARGS)
LIMIT = $(if $(MINUTES),minutes=$(MINUTES))
CHOSEN = $(strip $(if $(STUDIES),$(ADDED_STUDIES)) $(CHOSEN_WORKLOADS) $(LIMIT))

.PHONY: help paper study explain audits smoke test test-fast releases radar reference report accept archive compare plan debian cluster lint set-up

help:
	@sed -n '/^# make/,/^$$/s/^# //p' Makefile

paper: set-up
	$(SNAKEMAKE) $(if $(CHOSEN),--config $(CHOSEN))

study: set-up
	$(if $(STUDIES),,$(error expected make study STUDIES=<names of studies>, got none))
	$(SNAKEMAKE) results --config 'measure=[$(STUDIES)]' $(CHOSEN_WORKLOADS)

smoke: set-up
	$(SNAKEMAKE) --config preset=smoke $(CHOSEN_WORKLOADS)

explain: set-up
	$(if $(value PROGRAM)$(value A)$(value RUN)$(value DUMP),,$(error expected make explain PROGRAM=<file.py>, A=<file.mlir>, RUN=<script.py> or DUMP=<folder>, got none))
	$(if $(value PROGRAM),$(if $(value A)$(value B),$(error expected make explain PROGRAM=<file.py> or A=<file.mlir> B=<file.mlir>, got both; fix: give one)))
	$(if $(value RUN)$(value DUMP),$(if $(value PROGRAM)$(value A)$(value B),$(error expected RUN=<script.py> or DUMP=<folder> without PROGRAM, A and B, got both; fix: give one)))
	@.venv/bin/python -m stackwars.study.workflow.explain $(EXPLAINED) || [ $$? -lt 3 ]

audits: set-up
	$(SNAKEMAKE) audits $(if $(LIMIT),--config $(LIMIT))

releases: set-up
	$(if $(value PROGRAM),,$(error expected make releases PROGRAM=<program file, StableHLO file or workload>, got none))
	@.venv/bin/python -m stackwars.study.workflow.releases $(call quoted,RELEASES,--releases=) $(if $(RELEASES),,$(call quoted,ORDER,--order=)) -- $(call quoted,PROGRAM)

radar: set-up
	@.venv/bin/python -m stackwars.study.workflow.radar $(subst $(COMMA), ,$(PROGRAMS))
	$(SNAKEMAKE) radar
	@cat results/radar/radar.md

reference: set-up
	$(SNAKEMAKE) --config source=reference

accept: set-up
	.venv/bin/python -m stackwars.publish.accept $(call quoted,RUN)

report: set-up
	$(SNAKEMAKE) report.html $(if $(RESULTS)$(LIMIT),--config $(if $(RESULTS),source=$(RESULTS)) $(LIMIT))

# The same revision gives the same bytes.
archive: NAME = stack-wars-$(shell git rev-parse --short=12 HEAD)
archive:
	@git diff --quiet HEAD || { echo "expected a checkout as it was committed, got changed files; fix: commit, or restore them" >&2; exit 1; }
	@mkdir -p results/archive
	@git archive --format=tar --prefix=$(NAME)/ HEAD | gzip -n > results/archive/$(NAME).tar.gz
	@cd results/archive && sha256sum $(NAME).tar.gz | tee $(NAME).tar.gz.sha256
	@echo "wrote results/archive/$(NAME).tar.gz and, beside it, its digest: deposit both"

compare: set-up
	$(if $(RUN),,$(error expected make compare RUN=<folder with the tables of a run>, got none))
	@.venv/bin/python -m stackwars.publish.report.compare $(call quoted,RUN) $(call quoted,WITH)

plan: set-up
	@.venv/bin/python -m stackwars.study.workflow.plan --preset $(PRESET) --minutes $(or $(MINUTES),0) --studies $(ASKED_STUDIES)

debian: set-up
	STACKWARS_DEBIAN=1 .venv/bin/python -m pytest -rs tests/debian
	.venv/bin/python tests/debian/try_smoke.py

cluster: set-up
	STACKWARS_CLUSTER=1 .venv/bin/python -m pytest -rs tests/cluster

# Three tests at a time on two cores, because many wait for a process. A test that times something runs alone, and
# again if it fails, because a host can take the cores away for seconds. Only the tests need a browser. They compile the
# packages of an environment only as they import them.
test: export UV_COMPILE_BYTECODE = 0
test: set-up lint
	@.venv/bin/python -m stackwars.setup.preflight browser
	.venv/bin/python -m pytest -m "not alone" --numprocesses 3 --dist loadfile --no-loadscope-reorder
	.venv/bin/python -m pytest -m alone --reruns 2 --reruns-delay 20

test-fast: set-up
	.venv/bin/python -m pytest -m "not alone and not env and not slow" --numprocesses 3 --dist loadfile --no-loadscope-reorder

lint: set-up
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	PYTHONPATH=src .venv/bin/lint-imports
	.venv/bin/snakefmt --check Snakefile workflow
	.venv/bin/python -m stackwars.study.workflow.lint

# Set-up checks the disk for the environments that the command may build.
NEEDED = $(ASKED_STUDIES)
paper: NEEDED = tables $(ASKED_STUDIES)
audits: NEEDED = audits
explain: NEEDED = explain
releases radar: NEEDED = releases
smoke test: NEEDED = all

set-up:
	@STUDIES='$(NEEDED)' envs/setup.sh
	$(if $(filter $@,$(MAKECMDGOALS)),@.venv/bin/python -m stackwars.setup.environments --studies $(ASKED_STUDIES))
