# make lab          install the course into .venv and open it in JupyterLab
# make test         everything that must hold: lint, tests, every notebook, the browser
# make lint         ruff alone
# make exercises    write exercises/ from solutions/
# make figures      draw the opening pictures in notebooks/figures/
# make bench        time and memory of attention on this CPU, into notebooks/measured/
# make gpu          the kernels on this CUDA card, right and how fast, into notebooks/measured/
# make constraints  resolve the dependencies anew and write constraints.txt
# make hostile      every hostile submission to the grader that we know; make test tries a third
# make extras       the tests of the optional packages: Dask's cluster, nbgrader's files
# make lowest       run the tests with the oldest versions that pyproject.toml allows
#
# PYTHON=python3.12   another interpreter (3.11 or newer)
# CPU=1               Linux without an NVIDIA card: torch from PyTorch's CPU index, some
#                     gigabytes less; say it with the first make, which installs

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# pip shows its progress to a person, not to a log
PIP = $(BIN)/python -m pip --disable-pip-version-check install $(if $(MAKE_TERMOUT),,--quiet)
FIRST = notebooks/00_start_here.ipynb
CPU_INDEX = https://download.pytorch.org/whl/cpu
NBVAL = --nbval-lax --nbval-current-env --nbval-cell-timeout=180 -n2 --dist loadscope
# In a browser every cell of the chapters runs, and is looked at; without one, nbval runs them.
BROWSER = $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)

.DELETE_ON_ERROR:
.PHONY: help lab test lint exercises figures bench gpu hostile extras constraints lowest

help:
	@sed -n '/^$$/q; s/^# \{0,1\}//p' Makefile

lab: $(VENV)/.installed
	$(BIN)/jupyter lab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/$(FIRST) \
	  $(if $(filter 0,$(shell id -u)),--allow-root)

# two workers share two cores, so each computes on one thread
test: lint
	@scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && \
	COURSE_PROGRESS="$$scratch/progress.jsonl" OMP_NUM_THREADS=1 \
	$(BIN)/python -m pytest $(NBVAL) tests $(if $(BROWSER),,notebooks) solutions exercises

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .

exercises figures: $(VENV)/.installed
	$(BIN)/python -m course_lib $@

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and "The course needs \
	Python 3.11 or newer, and $(PYTHON) is %d.%d. Try: make lab PYTHON=python3.12" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	@echo 'Installing into $(VENV). The first time, this takes some minutes.'

# A stamp is newer than what it was made from, so a second make installs nothing.
$(VENV)/.installed: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	$(if $(CPU),$(PIP) --no-deps --index-url $(CPU_INDEX) -c constraints.txt torch)
	$(PIP) -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	$(if $(CPU),$(PIP) --no-deps --index-url $(CPU_INDEX) -c constraints.txt torch)
	$(PIP) -c constraints.txt -e '.[dev]'
	@touch $(VENV)/.installed $@

bench: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/tiling.py

hostile: $(VENV)/.installed-dev
	COURSE_HOSTILE=all $(BIN)/python -m pytest -q tests/test_grading_hostile.py

extras: $(VENV)/.installed-dev
	$(PIP) -c constraints.txt -e '.[dask,nbgrader]'
	$(BIN)/python -m pytest -q tests/test_grading_cluster.py tests/test_grading_nbgrader.py

gpu: $(VENV)/.installed
	$(BIN)/python benchmarks/gpu.py

# torch loses its local tag (+cpu) and NVIDIA's wheels are left out: torch pins those itself,
# and a machine without a card has none.
constraints: override VENV = .venv-constraints
constraints:
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[dev,dask,nbgrader]'
	$(BIN)/python -m pip freeze --exclude-editable > $(VENV)/found.txt
	$(BIN)/python -c 'import platform as p; print( \
	  "# The exact set of packages that the course was tested with. Made by: make constraints\n" \
	  "# Python", p.python_version() + ",", p.system(), p.machine())' > $(VENV)/new.txt
	sed -E '/^(nvidia|cuda)-/d; s/\+.*//' $(VENV)/found.txt >> $(VENV)/new.txt
	mv $(VENV)/new.txt constraints.txt
	rm -rf $(VENV)

LOWEST = import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
  deps = p["dependencies"] + p["optional-dependencies"]["dev"]; \
  print(*(d.replace(">=", "==") for d in deps), sep="\n")

lowest: override VENV = .venv-lowest
lowest:
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -c '$(LOWEST)' > $(VENV)/lowest.txt
	$(PIP) -r $(VENV)/lowest.txt -e .
	$(BIN)/python -m pytest -q -n2 --dist loadscope tests --ignore tests/test_browser.py
