# `make app` and `make test` set up what they need in .venv; see the README.
PYTHON ?= python3
ENGINES := charts,postgres,mysql
comma := ,
EXTRAS := dev,$(ENGINES)$(if $(LOCAL),$(comma)local)
PORT ?= 8501
WORKERS ?= 3
BIN := .venv/bin
REPORT := build/tests.xml

IMAGE := Dockerfile .dockerignore .streamlit/config.toml LICENSE app.py constraints.txt data/shipped \
	datasets evalcore examples pages pyproject.toml

PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder \
	--junitxml $(REPORT)
# How often `make test-full` repeats what `make test` repeats a few times.
REPEATS := EVALBOARD_KILLS=50 EVALBOARD_END_KILLS=20 EVALBOARD_FUZZ=500 EVALBOARD_PROOFS=400 \
	EVALBOARD_CHAOS=100 EVALBOARD_CASES=500 EVALBOARD_TRAIN=1 EVALBOARD_RUN_STEP=1

.PHONY: app test-fast test test-full test-lowest chaos lint audit shipped space clean

app: .venv/installed
	$(BIN)/streamlit run app.py --server.port $(PORT)

# Three lanes of tests by their marks and folders; the README tells what each is for. They start
# hundreds of programs, which read the byte code that the first has written, whatever the
# environment says of writing it.
test test-fast test-full test-lowest chaos: export PYTHONDONTWRITEBYTECODE :=

test-fast: .venv/installed-dev
	$(PYTEST) -m 'not full and not slow' tests/unit tests/apptest $(ARGS)

test: .venv/installed-dev
	$(PYTEST) -m 'not full' $(ARGS)

test-full: .venv/installed-dev
	$(REPEATS) $(PYTEST) $(ARGS)
	$(BIN)/evalcore datasets check

# The fast unit tests with the lowest versions that pyproject.toml allows, in an environment of their
# own; uv resolves them.
LOWEST := build/lowest
test-lowest: .venv/bin/python
	$(BIN)/python -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install -q uv
	$(LOWEST)/bin/uv pip compile -q --native-tls --resolution lowest-direct --extra auth --extra charts \
		--extra mlflow --extra mysql --extra openai --extra otel --extra postgres --extra store --extra wandb \
		--python $(LOWEST)/bin/python --output-file $(LOWEST)/versions.txt pyproject.toml
	$(LOWEST)/bin/python -m pip install -q -r $(LOWEST)/versions.txt -e . \
		httpx hypothesis ipykernel joserfc markdown-it-py nbclient psutil pytest-asyncio pytest-xdist \
		'setuptools>=77' websockets
	$(LOWEST)/bin/python -m pytest -n $(WORKERS) --dist loadfile -m 'not full and not slow' tests/unit $(ARGS)

# Runs under faults of every kind, each compared with an undisturbed one; prints a table.
SCENARIOS ?= 500
SEED ?= 1
chaos: .venv/installed-dev
	$(BIN)/python -m tests.support.chaos --scenarios $(SCENARIOS) --seed $(SEED)

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict evalcore tools
	$(BIN)/lint-imports
	$(BIN)/python tools/check_names.py
	$(BIN)/python tools/draw_architecture.py --check
	$(BIN)/python tools/check_secrets.py

# The pinned packages against the published vulnerabilities; needs the network, and says so.
AUDIT := build/audit
audit: .venv/bin/python
	$(BIN)/python -m venv $(AUDIT)
	-$(AUDIT)/bin/python -m pip install -q pip-audit
	$(AUDIT)/bin/python tools/audit_packages.py

# The runs that come with the project, made by the shipped baselines on the bundled data.
shipped: .venv/installed
	$(BIN)/python -m tools.shipped_runs $(ARGS)

# What a Hugging Face Space is made of, in build/space; docs/deploy.md tells how it is sent.
space:
	rm -rf build/space
	mkdir -p build/space
	git archive HEAD $(IMAGE) | tar -x -C build/space
	cp hosting/space/README.md build/space/README.md

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[$(ENGINES)]'
	touch $@

.venv/installed-dev: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[$(EXTRAS)]'
	touch $@ .venv/installed

clean:
	rm -rf .venv build
