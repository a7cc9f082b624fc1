# Two commands: `make report` builds the site from the raw files, `make test` runs the fast tests. Both first
# make their environment. `make` without a target lists all targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
CORES ?= all
WORKERS ?= 2
# Most of these tests wait for Slurm; each worker has its own cluster.
SLURM_WORKERS ?= 3

# uv uses the Python that is installed; hashes and versions come from requirements.lock.
export UV_PYTHON_DOWNLOADS := never
export UV_NO_PROGRESS := 1
# Use the machine's certificates, as pip does: behind a company's proxy nothing else works.
export UV_SYSTEM_CERTS ?= 1

# Container images often stop Python from writing compiled files. Every start of Snakemake would then compile
# a thousand modules again: 6 s of processor time instead of 2 s.
unexport PYTHONDONTWRITEBYTECODE

SNAKEMAKE := $(BIN)/python workflow/scripts/snakemake_local.py --cores $(CORES) --one-line --show-failed-logs --rerun-incomplete

.PHONY: help env report selftest datasets notebooks test test-slow test-all test-slurm check bench lab campaign picture schemas core lock clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

env: $(STAMP) ## make the environment in .venv, from requirements.lock

report: $(STAMP) ## build the site: raw files -> datasets -> verdicts -> notebooks -> results/site/index.html
	@$(SNAKEMAKE) --whole
	@echo "results/site/index.html"

selftest: $(STAMP) ## build the synthetic campaigns in results/selftest/ and list the claims they recovered
	@$(SNAKEMAKE) --config build=config/selftest.yaml
	@cat results/selftest/recovered.txt
	@echo "results/selftest/site/index.html"

datasets: $(STAMP) ## build datasets and verdicts only, with the synthetic datasets for notebooks and tests
	@$(SNAKEMAKE) --whole datasets

notebooks: datasets ## execute the notebooks and keep the outputs of their verdict cells, for a commit
	@$(BIN)/python -m analysis.site.kernels.commit notebooks/*.ipynb

test: datasets ## run the fast tests that need no cluster
	@$(BIN)/pytest -q -n $(WORKERS) --dist loadfile --ignore=tests/slurm -m "not slow"

test-slow: datasets ## run the tests that `make test` leaves out: Snakemake, job scripts, samplers, all notebooks
	@$(BIN)/pytest -q -n $(WORKERS) --dist loadfile --ignore=tests/slurm -m slow

test-all: test test-slow ## run all tests that need no cluster

test-slurm: $(STAMP) ## run the tests on a real Slurm, started on this machine (Debian, as root)
	@$(BIN)/pytest -q -n $(SLURM_WORKERS) --dist loadgroup -o tmp_path_retention_policy=failed \
	  -o cache_dir=.pytest_cache/slurm $(SLURM_ONLY) tests/slurm

check: $(STAMP) ## check lint, types, formats, the workflow, and the environment against the lock
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check workflow
	$(BIN)/snakemake --lint
	$(BIN)/pytest -q tests/test_environment.py

bench: $(STAMP) ## compare the speed of Benchbook with its peers; writes docs/scaling.md and names what moved
	@$(BIN)/python -m benchmarks.table

# No question about news, no check for a build that needs Node.js, no look for language servers: 1 to 2 s sooner.
LAB := --ServerApp.jpserver_extensions="{'jupyter_lsp': False}" \
	--ServerApp.tornado_settings="{'page_config_data': {'buildAvailable': False, 'buildCheck': False}}"
LAB_SETTINGS := $(VENV)/share/jupyter/lab/settings
NO_NEWS := {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}
# In a container you are root, which JupyterLab refuses.
LAB += $(if $(filter 0,$(shell id -u)),--allow-root)

lab: $(STAMP) ## open notebooks/00-start.ipynb in JupyterLab, after building the datasets that are evidence
	@$(SNAKEMAKE) --if-changed --whole evidence
	@git config filter.benchbook-notebook.clean '"$(CURDIR)/$(BIN)/python" -m analysis.site.kernels.commit --clean %f' || true
	@mkdir -p $(LAB_SETTINGS) && echo '$(NO_NEWS)' >$(LAB_SETTINGS)/overrides.json
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/jupyter lab $(LAB) notebooks/00-start.ipynb

campaign: $(STAMP) ## measure a small MPI program on this machine, about two minutes
	@bash workflow/scripts/local_mpi.sh $(BIN)/python
	@$(SNAKEMAKE) measure --config measure=local
	@$(BIN)/snakemake --cores 1 --quiet all -- data/processed/local/campaign.nc

picture: report ## make the README's picture of the scoreboard, with Chromium
	@profile="$$(mktemp -d)"; chromium --headless --no-sandbox --disable-gpu --hide-scrollbars \
	  --disable-background-networking --user-data-dir="$$profile" --window-size=1280,1130 \
	  --screenshot="$(CURDIR)/docs/scoreboard.png" "file://$(CURDIR)/results/site/index.html" 2>/dev/null; \
	rm -rf "$$profile"

schemas: $(STAMP) ## write the schemas of the configuration and docs/reference/, from models and registries
	@$(BIN)/python -m analysis.cli.reference

core: $(STAMP) ## compile the core of the readers again, to WebAssembly (fetches a compiler, 80 MB)
	@$(BIN)/uv run -q --no-project --with ziglang==0.13.0 bash src/analysis/readers/core/build.sh python -m ziglang cc

lock: $(STAMP) ## compile requirements.lock again from pyproject.toml
	@uv="$$(command -v uv || echo $(BIN)/uv)"; "$$uv" pip compile -q --universal --generate-hashes --extra dev \
	  --no-emit-index-url --no-emit-find-links -p 3.11 pyproject.toml -o requirements.lock

clean: ## remove everything that was built; raw files and the environment stay
	rm -rf results data/processed .snakemake

distclean: clean ## also remove the environment
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache

# Without uv: python -m venv .venv, then
#   .venv/bin/pip install --require-hashes -r requirements.lock
#   .venv/bin/pip install --no-build-isolation --no-deps -e .
$(STAMP): requirements.lock pyproject.toml
	@if ! $(BIN)/python -c "" 2>/dev/null; then \
	  python="$$(PYTHON="$${PYTHON:-$(PYTHON)}" bash workflow/scripts/find_python.sh)"; \
	  echo "making $(VENV) with $$("$$python" --version)"; \
	  "$$python" -m venv --clear $(VENV); \
	fi
	@command -v uv >/dev/null || test -x $(BIN)/uv || $(BIN)/python -m pip install -q --disable-pip-version-check uv || true
	@uv="$$(command -v uv || echo $(BIN)/uv)"; \
	"$$uv" pip sync -q --python $(BIN)/python --require-hashes requirements.lock || { \
	  echo "uv could not install the lock; trying pip, which is slower"; \
	  $(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock; \
	}
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@
