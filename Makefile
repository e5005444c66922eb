# Each target first sees to .venv; with everything up to date that costs nothing.
# `make demo` serves on PORT; `make prove` takes its counts: make prove KILLS=100 OUTAGE=60

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
export OMP_NUM_THREADS ?= 2
# Each worker of the tests and each command that they start would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

# Half as many workers again as cores, for many tests wait for a server. The order is that of tests/conftest.py.
WORKERS ?= $(shell echo $$(( ($$(getconf _NPROCESSORS_ONLN) * 3 + 1) / 2 )))
SPREAD := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# What is named is run whole; where nothing is named, what takes seconds for each test has its own target.
QUICK := -m "not proof and not browser and not long"

PORT ?= 8000
KILLS ?= 100
THREADS ?= 100
FUZZ ?= 2000
FAULTS ?= 1000
VALUES ?= 60
SLOW ?= 500
SLOW_SECONDS ?= 180
TEXTS ?= 0
OUTAGE ?= 60
OUTAGES ?= 50
CHANGES ?= 10000
ATTEMPTS ?= 10000
SEED ?= 1
REPORT ?=
# Proofs of so many files at once.
LANES ?= 1
PROOFS ?= tests/proofs tests/proof tests/memories/llm tests/memories/services/consolidation
EXAMPLES ?= 20
ARGS ?=

PRODUCTION := env MEMORYHUB_ENV=production MEMORYHUB_SECRET_KEY=only-for-this-check-0123456789-abcdefghijklmnopqrstuvwxyz-ABC \
	MEMORYHUB_ALLOWED_HOSTS=memoryhub.example MEMORYHUB_CSRF_TRUSTED_ORIGINS=https://memoryhub.example \
	MEMORYHUB_SIGNING_KEYS=b25seS1mb3ItdGhpcy1jaGVjay0wMTIzNDU2Nzg5YWI=

.PHONY: setup demo test test-long integrations integrations-older browse test-real check bench bench-peers bench-scale prove fmt lock wheel sbom audit pin-images openapi contract messages

setup: $(READY)

$(READY): requirements/dev.txt
	@echo "Setting up .venv; the first time takes a minute or two."
	@command -v uv >/dev/null 2>&1 \
	  && { uv venv --quiet --allow-existing --python '>=3.11' .venv && uv pip install --quiet --require-hashes --python .venv -r requirements/dev.txt; } \
	  || { $(PYTHON) -m venv .venv && $(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements/dev.txt; }
	@touch $@

demo: $(READY)
	@$(BIN)/python manage.py demo --port $(PORT)

test: $(READY)
	@$(BIN)/pytest $(SPREAD) $(if $(ARGS),$(ARGS),$(QUICK))

test-long: $(READY)
	@$(BIN)/pytest $(SPREAD) -m long $(ARGS)

# The frameworks want other versions than the server, and two want older ones than the rest, so they have environments of their own.
INTEGRATIONS := pytest -c tests/integrations/pytest.ini --rootdir=. --confcutdir=tests/integrations

ENVIRONMENT = $(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python var/$(1) \
	  && $(BIN)/uv pip install --quiet --require-hashes --python var/$(1) -r requirements/$(1).txt

integrations: $(READY)
	@$(call ENVIRONMENT,integrations)
	@var/integrations/bin/mypy --config-file tests/integrations/mypy.ini
	@var/integrations/bin/$(INTEGRATIONS) tests/integrations $(ARGS)

# Most of a gigabyte of frameworks for two examples: for the nightly run.
integrations-older: $(READY)
	@$(call ENVIRONMENT,integrations-older)
	@var/integrations-older/bin/$(INTEGRATIONS) tests/integrations/test_examples.py -k "crewai or litellm" $(ARGS)

browse: $(READY)
	@$(BIN)/pytest -m browser $(SPREAD) tests/browser $(ARGS)

# A test without database and server is the same there as in `make test`.
test-real: $(READY)
	@$(BIN)/python -m tests.real_parts -- $(BIN)/pytest $(SPREAD) -m "not proof and not browser and (database or server)" $(ARGS)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	MEMORYHUB_DATA_DIR=.venv/check $(BIN)/python manage.py makemigrations --check --dry-run
	$(PRODUCTION) $(BIN)/python manage.py check --deploy --fail-level WARNING
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --file /dev/null
	$(BIN)/pytest -q -p no:xdist -p no:randomly tests/memories/staff/isolation/test_every_page_has_a_case.py

bench: $(READY)
	@$(BIN)/python -m benchmarks $(ARGS)

# Beside other memories, which need an environment of their own (docs/benchmarks.md).
bench-peers: $(READY)
	@$(call ENVIRONMENT,bench-peers)
	@$(BIN)/python -m benchmarks.peers $(ARGS)

# How each cost grows; the plots are drawn in that environment.
bench-scale: $(READY)
	@$(call ENVIRONMENT,bench-peers)
	@$(BIN)/python -m benchmarks.scale $(ARGS)

prove: $(READY)
	@$(BIN)/pytest $(PROOFS) -m proof -p no:randomly $(if $(filter 1,$(LANES)),-p no:xdist -s,-n $(LANES) --dist loadfile) --no-cov --kills=$(KILLS) --threads=$(THREADS) --fuzz=$(FUZZ) --faults=$(FAULTS) --values=$(VALUES) --texts=$(TEXTS) --slow=$(SLOW) --slow-seconds=$(SLOW_SECONDS) --outage=$(OUTAGE) --outages=$(OUTAGES) --changes=$(CHANGES) --attempts=$(ATTEMPTS) --seed=$(SEED) $(if $(REPORT),--report=$(REPORT)) $(ARGS)

# The description that is committed, and the types of the TypeScript client, which need Node;
# tests/memories/api/test_schema.py and tests/clients/test_typescript_client.py fail if they are not what the code says.
openapi: $(READY)
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --file docs/openapi.yaml
	cd clients/typescript && npm install --no-package-lock --no-audit --no-fund --ignore-scripts && npm run generate

# The texts of pages in German and Spanish (docs/development.md); it needs Debian's `gettext`. What is compiled is committed, too.
messages: $(READY)
	@$(BIN)/python -m deploy.messages

# The suites of others: linters of the description, a generated client, requests made from it. It needs Node.
contract: $(READY)
	@npm install --silent --no-audit --no-fund --prefix var/linters @redocly/cli@2 @stoplight/spectral-cli@6
	@$(BIN)/pytest -q -n 0 -p no:randomly --no-cov tests/memories/api/test_contract.py --examples=$(EXAMPLES) $(ARGS)

fmt: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Every package with the hashes of its files, and no address of an index: any mirror of the same files serves.
lock: $(READY)
	cd requirements && for name in base otel dev integrations integrations-older bench-peers; do \
	  ../$(BIN)/uv pip compile $$([ $$name != otel ] || echo --constraints base.txt) --generate-hashes --quiet --universal --python-version 3.11 --no-header --no-emit-index-url --no-emit-find-links --upgrade $$name.in -o $$name.txt; \
	done

# The wheel and the sdist of the server and of its Python client, in dist/.
wheel: $(READY)
	@for project in . clients/python; do (cd $$project && $(CURDIR)/$(BIN)/python -m hatchling build --directory $(CURDIR)/dist) || exit 1; done

# Bills of materials (CycloneDX) of what the image holds.
sbom: $(READY)
	@for name in base otel; do $(BIN)/cyclonedx-py requirements --output-format JSON --output-file sbom-$$name.json requirements/$$name.txt && echo sbom-$$name.json; done

# Known vulnerabilities of what is locked; it asks the package index for advisories.
audit: $(READY)
	@$(BIN)/python deploy/audit.py $(BIN)/pip-audit

# Writes the digest beside each tag in compose.yaml and Dockerfile; needs Docker and the registries of the images.
pin-images:
	@python3 deploy/pin_images.py Dockerfile compose.yaml
