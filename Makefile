# Every target does its own set-up. `make help` lists them.
SHELL := /bin/sh
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X harness/internal/lib/version.program=$(VERSION)

# Packages tested at once. Each brings processes of its own (codex, Postgres), so more than the cores only makes them wait for each other.
TEST_P       ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
TEST_TIMEOUT ?= 40m
TEST_FLAGS   ?=
# Tests of a package that run at once. They wait for a third of their time, but bring agents, which take seconds of a processor to start:
# many more of them would time out.
TEST_PARALLEL ?= $(shell expr $(TEST_P) + 1)
# The packages that take longest begin first: one that began late would be waited for alone.
LONGEST      := $(addprefix ./internal/,runtime/acp services/session/manager runtime/opencode runtime/codex platform/journal) ./queue ./api \
	$(addprefix ./tests/e2e/,agents clients nodes crashes transcripts ...) ./internal/runtime/claude ./cmd/harness ./internal/content/backup
RUNTIMES     ?= claude gemini opencode
# Each process of a test would wait a second at its end for races that others may still find.
TEST_GORACE  ?= atexit_sleep_ms=0
# The race detector looks at Go's memory only. SQLite and QuickJS, transpiled from C, keep their own outside of that, so in them there is nothing
# to detect but they cost most of a test's time; their drivers and all that uses them are under the detector.
IN_C         := $(foreach part,sqlite/lib libquickjs libc/... memory,-gcflags=modernc.org/$(part)=-race=false)
# The client is a module of its own, which this one uses.
CLIENT       := harness/client/...
PKG          ?= ./... $(CLIENT)
TEST_PKG     := $(if $(filter ./...,$(PKG)),$(LONGEST)) $(PKG)

# What is not under the race detector is compiled as it ships, here and by the tests: once, where caches are cold.
SHIPPED = CGO_ENABLED=0 GOFLAGS='$(shell go env GOFLAGS) -trimpath'

# In make module PATH=..., PATH is a module path. The programs are then found with the PATH that make was started with: on Linux it is in
# make's own environment, and an old make, as on macOS, gives it to $(shell).
ifeq ($(origin PATH),command line)
MODULE := $(PATH)
override PATH := $(shell given=$$PATH; PATH=/usr/bin:/bin; if [ -r /proc/$$PPID/environ ]; then tr '\0' '\n' </proc/$$PPID/environ | sed -n 's/^PATH=//p'; else echo "$$given"; fi)
endif

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build and start the server; installs codex into .cache unless there is one
	@exec scripts/run.sh

.PHONY: demo
demo: build ## a first turn without an account: server, scripted model, an approval to answer, in this terminal
	$(SHIPPED) go build -o bin/mockmodel ./tests/mockmodel/cmd/mockmodel
	@exec scripts/demo.sh $(DEMO_FLAGS)

.PHONY: runtimes
runtimes: ## install the pinned agents (RUNTIMES="claude gemini opencode") into .cache and print their paths
	@scripts/agents.sh $(RUNTIMES)

.PHONY: newest
newest: ## install the newest agents of npm, run the conformance suite on each, write docs/runtimes/tested.md (AGENTS="codex claude" for some)
	@scripts/newest.sh $(AGENTS)

.PHONY: build
build: ## build bin/harness, with the web console when Node.js and npm are there
	@scripts/console.sh
	$(SHIPPED) go build -ldflags '$(LDFLAGS)' -o bin/harness ./cmd/harness

.PHONY: test
test: ## install what the tests need, then vet and test everything, without network where that can be had; with -race but for scripts/runtests/plain.txt
	@scripts/progress.sh 'test 1/2: what the tests need, and go vet' scripts/prepare-test.sh $(IN_C)
	@# -vet=off: the whole of go vet has just run; for the tests it would look through all dependencies again.
	@$(SHIPPED) go build -o bin/runtests ./scripts/runtests
	GORACE=$(TEST_GORACE) scripts/progress.sh 'test 2/2: go test' scripts/offline.sh bin/runtests -plain scripts/runtests/plain.txt go test -race $(IN_C) -p $(TEST_P) -parallel $(TEST_PARALLEL) -vet=off -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) $(TEST_PKG)

# Minutes that a package may take in make check. None needs a part that is waited for.
CHECK_TIMEOUT ?= 5m

.PHONY: check
check: ## vet, lint, and every test that needs no part from outside, on SQLite (minutes); the number left out is printed
	$(SHIPPED) go vet $(PKG)
	@$(MAKE) --no-print-directory lint PKG='$(PKG)'
	@$(SHIPPED) go build -o bin/runtests ./scripts/runtests
	HARNESS_CHECK=1 $(SHIPPED) scripts/progress.sh 'check: go test' bin/runtests go test -p $(TEST_P) -parallel $(TEST_PARALLEL) -vet=off -timeout $(CHECK_TIMEOUT) $(TEST_FLAGS) $(TEST_PKG)

.PHONY: one
one: ## run one test, found by its name: make one T=TestName [PKG=./folder], with no race detector and never from the cache
	@scripts/one.sh '$(T)' $(if $(filter file,$(origin PKG)),,'$(PKG)')

.PHONY: fuzz
fuzz: ## every fuzz target on FUZZ_RUNS (50000) inputs (FUZZ_PART=3: a third of them by date)
	$(SHIPPED) scripts/fuzz.sh

.PHONY: mutants
mutants: ## break the product on purpose: a test of the promise that a mutant breaks must fail (MUTANTS="-time 1m": a sample by date)
	scripts/setup-test.sh
	$(SHIPPED) go build -o bin/mutants ./scripts/mutants
	$(SHIPPED) scripts/offline.sh bin/mutants $(MUTANTS)

.PHONY: histories
histories: ## HARNESS_HISTORIES (500) random kills, freezes, stops and outages of the store over jobs on each engine (half an hour)
	scripts/setup-test.sh
	HARNESS_HISTORIES=$${HARNESS_HISTORIES:-500} go test -v -timeout 4h -run TestRandomEndsRunNoInstructionTwice ./tests/e2e/crashes

.PHONY: tools
tools: ## HARNESS_TOOL_KILLS (100) kills of tasks with the server's tools on each engine, and every agent through 130 s of silence (half an hour)
	scripts/setup-test.sh
	HARNESS_TOOL_KILLS=$${HARNESS_TOOL_KILLS:-100} HARNESS_TOOLS_SILENCE=$${HARNESS_TOOLS_SILENCE:-130} go test -v -timeout 2h \
		-run 'TestKillsRunNoToolTwice|TestAgentsAreGivenTheToolsOfTheServer' ./tests/e2e/crashes ./tests/e2e/agents

.PHONY: powerloss
powerloss: ## HARNESS_POWERLOSS (1000) states after a loss of power, of a recording of a server's system calls (make test tries 30)
	scripts/setup-test.sh
	HARNESS_POWERLOSS=$${HARNESS_POWERLOSS:-1000} go test -v -count=1 -timeout 2h -run TestNothingAcknowledgedIsLostWithThePower ./tests/e2e/lost

.PHONY: bitrot
bitrot: ## flip HARNESS_BITROT (1000) bits of log, database, spool, archive and backup, one at a time: none may change what is shown (make test: 100 to 150)
	HARNESS_BITROT=$${HARNESS_BITROT:-1000} go test -v -count=1 -timeout 1h -run TestAFlippedBitIn ./internal/platform/database ./internal/services/scrub ./internal/runtime/process/shim ./internal/platform/journal/archive ./internal/content/backup

.PHONY: outages
outages: ## every way a store can refuse at every point of a turn, on each engine (two minutes; make test tries each once)
	scripts/setup-test.sh
	HARNESS_OUTAGE_ROUNDS=$${HARNESS_OUTAGE_ROUNDS:-6} go test -v -timeout 30m -run TestAnOutageOfTheStoreLeavesNoTrace ./tests/e2e/crashes

# Networks of namespaces, and disks to be filled, are made by root.
TELL_LINKS = [ "$$(id -u)" = 0 ] || echo 'NOT ROOT: links are proxies, not a network of namespaces in the kernel, and no disk is filled'

.PHONY: cluster
cluster: ## three servers on one Postgres that are killed, frozen and cut off from it, with and without what must hold then (three to four minutes)
	scripts/setup-test.sh
	@$(TELL_LINKS)
	$(SHIPPED) go test -tags cluster -vet=off -timeout 10m ./internal/platform/cluster

.PHONY: cluster-night
cluster-night: ## HARNESS_SEEDS (200) schedules of faults at random on three servers, primary and standby, until the first that fails (hours)
	scripts/setup-test.sh
	@$(TELL_LINKS)
	HARNESS_SEEDS=$${HARNESS_SEEDS:-200} $(SHIPPED) go test -tags cluster -vet=off -v -timeout 12h -run TestFaultsAtRandom ./internal/platform/cluster

.PHONY: live
live: ## a prompt and a command of every agent of this machine that is logged in, with its real model (costs money)
	RUN_LIVE_TESTS=1 go test -tags live -v -count 1 -timeout 30m -run TestRealRuntimes ./tests/e2e/live

.PHONY: soak
soak: ## all of it at once for SOAK_LENGTH (3m, an hour before a release): fails when memory, descriptors, goroutines or files grow
	cd tests/bench && go run . soak -length $${SOAK_LENGTH:-3m}

.PHONY: bench
bench: ## measure the real server against baselines of the same run (minutes; tables as in docs/performance.md)
	cd tests/bench && go run . $(BENCH_FLAGS)

.PHONY: bench-nodes
bench-nodes: ## what many nodes cost, each against its baseline in the same run: other nodes' frames, forwarding, taking sessions, writers (minutes)
	scripts/setup-test.sh
	$(SHIPPED) go test -v -count 1 -run 'AnotherNodeShows|WhatAskingTheOwnerCosts' ./tests/e2e/nodes
	$(SHIPPED) go test -v -count 1 -run OneOfTenThousand ./internal/services/session/manager
	$(SHIPPED) go test -run - -bench 'WritersBehindAStandby|AWriterAlone|WritesBesidePruning|PartitionsOfEvents' -benchtime 1x -timeout 30m ./internal/platform/journal

.PHONY: lint
lint: ## golangci-lint as pinned in scripts/lint/go.mod
	@tool=$$(scripts/lint-tool.sh) && $(SHIPPED) "$$tool" run $(filter-out $(CLIENT),$(PKG)) \
		$(if $(filter $(CLIENT),$(PKG)),&& cd client && $(SHIPPED) "$$tool" run -c ../.golangci.yml)

.PHONY: docs
docs: ## regenerate docs/configuration.md
	@mkdir -p docs
	go run ./internal/platform/config/gendocs > docs/configuration.md.tmp
	mv docs/configuration.md.tmp docs/configuration.md

.PHONY: module
module: ## give the Go modules another path, in every file at once: make module PATH=github.com/you/harness
	@go run ./scripts/module '$(MODULE)'

.PHONY: site
site: ## turn README.md and docs/ into a static site in dist/site, with Markdown copies and llms.txt; a broken link fails
	cd scripts/site && $(SHIPPED) go run . $(SITE_FLAGS)

PREFIX ?= /usr/local

.PHONY: install
install: build ## install program, manual and completions below PREFIX (/usr/local); DESTDIR is put before it
	@rm -rf bin/manual && mkdir -p bin/manual
	go build -tags man -o bin/manual/program ./cmd/harness && bin/manual/program man bin/manual/man1 && rm bin/manual/program
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/share/man/man1' '$(DESTDIR)$(PREFIX)/share/bash-completion/completions' \
		'$(DESTDIR)$(PREFIX)/share/zsh/site-functions' '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d'
	install -m 755 bin/harness '$(DESTDIR)$(PREFIX)/bin/harness'
	install -m 644 bin/manual/man1/*.1 '$(DESTDIR)$(PREFIX)/share/man/man1'
	bin/harness completion bash > '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/harness'
	bin/harness completion zsh > '$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_harness'
	bin/harness completion fish > '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/harness.fish'

.PHONY: release
release: ## make a release (VERSION=1.2.3, signed with KEY=FILE) of the commit in dist/: archives, packages, chart, formula, npm, provenance, checksums
	go run ./scripts/release -version '$(VERSION)' $(if $(KEY),-key $(KEY)) $(RELEASE_FLAGS)

.PHONY: verify-release
verify-release: ## check signature (PUBLIC_KEY=FILE), checksums, bills of materials and provenance of a release in DIR (dist)
	go run ./scripts/release verify -dir '$(or $(DIR),dist)' $(if $(PUBLIC_KEY),-public-key $(PUBLIC_KEY)) $(RELEASE_FLAGS)

.PHONY: check-release
check-release: ## what can be checked of unit and chart here (systemd-analyze, helm lint)
	scripts/release/check.sh

.PHONY: check-compose
check-compose: ## build the images and run deploy/postgres/compose.yml on an engine of Docker of its own (root, Debian; makes iptables rules as Docker does)
	@scripts/compose-tool.sh >/dev/null
	go test -tags containers -count 1 -v -timeout 60m ./tests/e2e/containers

.PHONY: check-alerts
check-alerts: ## the unit tests of deploy/alerts.yml with the promtool there is (Debian: in prometheus), else built once in many minutes
	tool=$$(command -v promtool || scripts/tool.sh promtool github.com/prometheus/prometheus cmd/promtool) && \
		"$$tool" check rules deploy/alerts.yml && "$$tool" test rules deploy/alerts_test.yml

.PHONY: clean
clean: ## remove what was built; the cache of downloads stays
	rm -rf bin dist console/dist/app console/web/node_modules
