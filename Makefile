# Needs Python 3.11, make and the package registries; everything else is made in .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST_ARGS ?=
# Processes that run tests; 0 runs them in one, as a debugger needs it.
WORKERS ?= 3
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder

.PHONY: install test check format chaos demo bench freeze clean

install: $(STAMP)

# The stamp is touched last, so that an interrupted installation is taken up again.
$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.version_info < (3, 11) and sys.exit("Obelus needs Python 3.11 or later, and this is " + sys.version.split()[0] + "; name another with make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt setuptools wheel
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		--no-build-isolation -e '.[dev]'
	touch $(STAMP)

test: install
	$(PYTEST) -m "not chaos or sample" $(PYTEST_ARGS)

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

chaos: install
	$(PYTEST) -m chaos $(PYTEST_ARGS)

demo: install
	$(BIN)/obelus demo

bench: install
	$(BIN)/python -m benchmarks.ingest
	$(BIN)/python -m benchmarks.recall

freeze: install
	{ sed -n '/^#/p' constraints.txt; \
	  $(BIN)/python -m pip freeze --all --exclude-editable | grep -v '^pip=='; } > constraints.new
	mv constraints.new constraints.txt

clean:
	rm -rf $(VENV) build dist ./*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
