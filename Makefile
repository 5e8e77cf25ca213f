# Every target does its own set-up. `make help` lists them.
SHELL := /bin/sh
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)

# Packages tested at once. Each brings processes of its own (codex, Postgres), so more than the cores only makes them wait for each other.
TEST_P       ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
TEST_TIMEOUT ?= 30m
TEST_FLAGS   ?=
RUNTIMES     ?= claude gemini opencode
# Each process of a test would wait a second at its end for races that others may still find.
TEST_GORACE  ?= atexit_sleep_ms=0
# The race detector looks at Go's memory only. SQLite, transpiled from C, keeps its own outside of that, so in it there is nothing to detect
# but it costs most of a test's time; its driver and all that uses it are under the detector.
SQLITE_IN_C  := -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc/...=-race=false -gcflags=modernc.org/memory=-race=false
PKG          ?= ./...

# What is not under the race detector is compiled as it ships, here and by the tests: once, where caches are cold.
SHIPPED = CGO_ENABLED=0 GOFLAGS='$(shell go env GOFLAGS) -trimpath'

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build and start the server; installs codex into .cache unless there is one
	@exec scripts/run.sh

.PHONY: runtimes
runtimes: ## install the pinned agents (RUNTIMES="claude gemini opencode") into .cache and print their paths
	@scripts/agents.sh $(RUNTIMES)

.PHONY: build
build: ## build bin/harness
	$(SHIPPED) go build -ldflags '$(LDFLAGS)' -o bin/harness ./cmd/harness

.PHONY: test
test: ## install what the tests need, then vet and test everything with -race
	@scripts/progress.sh 'test 1/3: what the tests need' scripts/setup-test.sh
	$(SHIPPED) scripts/progress.sh 'test 2/3: go vet' go vet ./...
	GORACE=$(TEST_GORACE) scripts/progress.sh 'test 3/3: go test' go test -race $(SQLITE_IN_C) -p $(TEST_P) -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) $(PKG)

.PHONY: fuzz
fuzz: ## every fuzz target on FUZZ_RUNS (50000) inputs
	$(SHIPPED) scripts/fuzz.sh

.PHONY: histories
histories: ## HARNESS_HISTORIES (500) random kills, freezes, stops and outages of the store over jobs on each engine (half an hour)
	scripts/setup-test.sh
	HARNESS_HISTORIES=$${HARNESS_HISTORIES:-500} go test -v -timeout 4h -run TestRandomEndsRunNoInstructionTwice ./cmd/harness

.PHONY: outages
outages: ## every way a store can refuse at every point of a turn, on each engine (two minutes; make test tries each once)
	scripts/setup-test.sh
	HARNESS_OUTAGE_ROUNDS=$${HARNESS_OUTAGE_ROUNDS:-6} go test -v -timeout 30m -run TestAnOutageOfTheStoreLeavesNoTrace ./cmd/harness

.PHONY: soak
soak: ## all of it at once for SOAK_LENGTH (3m, an hour before a release): fails when memory, descriptors, goroutines or files grow
	cd bench && go run . soak -length $${SOAK_LENGTH:-3m}

.PHONY: bench
bench: ## measure the real server against baselines of the same run (minutes; tables as in docs/performance.md)
	cd bench && go run . $(BENCH_FLAGS)

.PHONY: lint
lint: ## golangci-lint as pinned in scripts/lint/go.mod
	@tool=$$(scripts/lint-tool.sh) && $(SHIPPED) "$$tool" run $(PKG)

.PHONY: docs
docs: ## regenerate docs/configuration.md
	@mkdir -p docs
	go run ./config/gendocs > docs/configuration.md.tmp
	mv docs/configuration.md.tmp docs/configuration.md

.PHONY: clean
clean: ## remove what was built; the cache of downloads stays
	rm -rf bin
