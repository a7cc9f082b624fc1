# The targets of a project of one's own, which its Makefile includes.
PYTHON ?= python3
BIN := $(shell $(PYTHON) -c 'import os, sys; print(os.path.dirname(sys.executable))')
export PATH := $(BIN):$(PATH)

.PHONY: report lab found
report: found
	@$(PYTHON) workflow/scripts/snakemake_local.py --cores all --one-line --whole --show-failed-logs --ri
	@echo results/site/index.html

lab: found
	@$(PYTHON) workflow/scripts/snakemake_local.py --if-changed --cores all --one-line --whole --ri evidence
	@$(PYTHON) -m jupyterlab notebooks/00-start.ipynb

found:
	@$(PYTHON) -c 'import benchbook' 2>/dev/null || \
	  { echo "$(PYTHON) has no Benchbook: activate its environment, or set PYTHON"; exit 1; }
