# make run       builds and starts Parley on the embedded store, without the clients of Google Cloud
# make dist      makes the artifacts of a release in dist/: archives, packages, images, bills of materials, checksums
# make demo      serves a scripted day of six agents, and prints a link that opens the console on it
# make test      runs lint and the tests, on both stores
# make race      runs the tests under the race detector
# make attack    runs the tests of attacks, whole
# make proof     runs the tests with a browser, real clients, the Firebase Auth emulator, the MCP conformance suite,
#                servers under load, the functions as they are deployed, the artifacts of make dist installed, and those
#                of make test under the race detector
# make emulator  runs all parts of Parley as in the cloud, on the Firestore emulator
# make deploy    deploys Parley to a Google Cloud project
# make security  checks the dependencies for known vulnerabilities, and their checksums and signatures
# make scale     lets 1,000 agents work with one server on the embedded store for ten minutes
# make clients   generates the typed clients for TypeScript and Python in bin/clients, and checks their types
# Other targets: screenshots, build, sbom, lock, functions-zip, generate, lint, bench, chaos, conformance, clean.

MODULES     := shared services/hub services/hub/harness functions
HUB         := services/hub
HARNESS     := services/hub/harness
# The module that makes the artifacts of a release. It is not in the workspace: nothing that ships needs its modules.
DIST        := tools/dist
VERSION     := $(shell .ci/version)
CLI         := parley.internal/services/hub/internal/cli
LDFLAGS     := -s -w -X $(CLI).Version=$(VERSION)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.8.0
# A test that contends in the emulator waits for its locks and uses no processor meanwhile, so more tests and packages
# run at once than there are processors.
PARALLEL    := -p 4 -parallel 8
# make lint vets all packages, and no test reads the debug information of its binary.
QUICK       := -vet=off '-ldflags=-s -w'
# Packages of the harness that make proof tests and make test leaves out: the real clients of agents, Chromium, the
# TypeScript SDKs, the generated clients, Caddy, the Firebase Auth emulator, and servers that are killed or measured under load.
PROOF       := harness/(agents|browser|chaos|chaos/claims|chaos/typescript|clients|cmd/bench|cmd/scale|e2e|firebase|hook|proxy|scale)$$
# Packages that build or start programs that ship, or read the graphs of the modules: they are tested without the
# workspace, like the programs that ship.
SHIPS       := services/hub$$|hub/internal/cli$$|harness$$|harness/program$$
# Packages that build the functions as they are deployed, which compiles all their modules once more: make proof tests them.
DEPLOYED    := functions/internal/(archive|stack)$$
# Packages without a use for the race detector: all their work is in other processes, or is one call after another.
NO_RACE     := services/hub$$|harness$$|harness/program$$|harness/catalogue$$
NPM         := $(shell command -v npm 2>/dev/null)
ifeq ($(NPM),)
export PARLEY_NO_NODE := 1
endif
SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

# One environment for the builds of all tests, so that lint, tests and the programs that tests build compile each package
# once. The race detector alone needs cgo.
TESTS := lint test test-inside race race-inside attack attack-inside proof proof-inside sbom bench chaos scale conformance
$(TESTS): export CGO_ENABLED := 0
$(TESTS): export GOFLAGS := $(strip $(filter-out -trimpath,$(or $(GOFLAGS),$(shell go env GOFLAGS 2>/dev/null))) -trimpath)
race-inside: export CGO_ENABLED := 1

.PHONY: run demo screenshots build sbom clients dist test attack proof setup chromium zsh security emulator functions-zip generate \
	lint bench chaos scale conformance clean

# What only a setting for Google Cloud or OpenTelemetry needs is most of a first build, and make run leaves it out unless
# such a setting is in the environment. Nor does it compile debug information, which the linker would drop. All other
# targets build the whole program.
WHOLE := $(filter-out sqlite,$(PARLEY_STORE))$(PARLEY_FIREBASE_PROJECT)$(PARLEY_FCM_PROJECT)$(PARLEY_FCM_ENDPOINT)
WHOLE += $(OTEL_EXPORTER_OTLP_ENDPOINT)$(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT)
LEAN :=
run: LEAN := $(if $(strip $(WHOLE)),,-tags laptop -gcflags=all=-dwarf=false)
run: build
	bin/parley serve --data .parley

DEMO_ADDR ?= 127.0.0.1:3000
demo: build
	cd $(HARNESS) && GOWORK=off go build -o ../../../bin/demo ./cmd/demo
	bin/demo -program bin/parley -addr $(DEMO_ADDR)

# A picture of each view of the console, in both schemes and widths.
screenshots: setup
	cd $(HARNESS) && PARLEY_SCREENSHOTS=$(CURDIR)/bin/screenshots GOWORK=off \
		go test -count=1 -timeout 15m -run 'TestEveryViewShowsTheDayOnEveryScreen/sqlite' ./browser

# A Go older than 1.21 cannot read go.mod, and fetches no newer one by itself.
.PHONY: go
go:
	@command -v go >/dev/null || { echo 'make: Parley is built with Go, which is missing here: https://go.dev/doc/install' >&2; exit 1; }
	@v=$$(cd / && GOTOOLCHAIN=local go version | sed -n 's/.* go1\.\([0-9]*\).*/\1/p'); [ "$${v:-99}" -ge 21 ] || \
		{ echo "make: Parley needs $$(sed -n 's/^go /Go /p' go.work), and this one is 1.$$v: https://go.dev/doc/install" >&2; exit 1; }

# The binaries that ship are built without the workspace.
build: go
	cd $(HUB) && export GOWORK=off CGO_ENABLED=0 && \
		go build -trimpath $(LEAN) -ldflags '$(LDFLAGS)' -o ../../bin/parley . && \
		go build -trimpath $(LEAN) -ldflags '-s -w' -o ../../bin/parley-hook ./cmd/parley-hook

# The bill of materials of the binary, the same bytes from the same binary: each module that the linker put into it.
sbom: build
	cd $(HARNESS) && export GOWORK=off && go build -o ../../../bin/sbom ./cmd/sbom && \
		go tool -modfile=cmd/sbom/tool.mod cyclonedx-gomod bin -json -noserial -std -version '$(VERSION)' \
			../../../bin/parley | ../../../bin/sbom -o ../../../bin/parley.cdx.json

# The artifacts have the time of the last commit. DIST_URL is where releases will be: an artifact is at
# DIST_URL/VERSION/NAME, and latest.json at DIST_URL itself, which the programs then know. DIST_NOTES is the address of a
# page about the release. DIST_ONLY names some platforms, such as linux/amd64,darwin/arm64.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)
DIST_EXAMPLE := https://parley.example.org/releases
DIST_URL ?= $(DIST_EXAMPLE)
DIST_NOTES ?=
DIST_ONLY ?=
DIST_FLAGS = $(LDFLAGS)$(if $(filter-out $(DIST_EXAMPLE),$(DIST_URL)), -X $(CLI).Releases=$(patsubst %/,%,$(DIST_URL))/latest.json)
dist: go
	cd $(DIST) && GOWORK=off go run . -root ../.. -out ../../dist -version '$(VERSION)' -ldflags '$(DIST_FLAGS)' \
		-commit "$$(git rev-parse HEAD)" -time '$(SOURCE_DATE_EPOCH)' -url '$(DIST_URL)' -notes '$(DIST_NOTES)' \
		-only '$(DIST_ONLY)'

# The types of both clients are those of the OpenAPI document of these sources.
clients: go $(HARNESS)/clients/node_modules/.installed
	cd $(HARNESS) && GOWORK=off go run ./cmd/openapi -o ../../../bin/clients/openapi.json -version '$(VERSION)'
	node $(HARNESS)/clients/generate.mjs bin/clients/openapi.json bin/clients

# One archive for all functions, the same bytes from the same sources.
functions-zip:
	@mkdir -p bin
	cd functions && GOWORK=off go run ./cmd/package -o ../bin/functions.zip

emulator:
	cd functions && go run ./cmd/emulator

setup: $(HARNESS)/agents/node_modules/.installed $(HARNESS)/browser/node_modules/.installed \
	$(HARNESS)/clients/node_modules/.installed $(HARNESS)/e2e/node_modules/.installed \
	$(HARNESS)/firebase/node_modules/.installed chromium zsh bin/debian/usr/bin/caddy

# The page is tested in Debian's Chromium, which is installed where that is possible.
chromium:
	@command -v chromium chromium-browser google-chrome >/dev/null && exit 0; \
	root=; if [ "$$(id -u)" != 0 ]; then root='sudo -n'; fi; \
	if command -v apt-get >/dev/null && $$root true 2>/dev/null; then \
		$$root apt-get update -qq && $$root apt-get install -y -qq --no-install-recommends chromium >/dev/null && exit 0; \
	fi; \
	echo "Chromium is missing and could not be installed: the browser tests of the page are skipped"

# The Caddyfile is tested with Debian's Caddy, which is unpacked here and not installed: nothing starts by itself.
bin/debian/usr/bin/caddy:
	@command -v caddy >/dev/null && exit 0; \
	if command -v apt-get >/dev/null && command -v dpkg >/dev/null; then \
		mkdir -p bin/debian && cd bin/debian && rm -f caddy_*.deb && \
		{ apt-get download -qq caddy 2>/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get download -qq caddy; }; } && \
		dpkg -x caddy_*.deb . && rm -f caddy_*.deb && touch usr/bin/caddy && exit 0; \
	fi; \
	echo "Caddy is missing and could not be downloaded: the Caddyfile is not tested"

# Blocks of the pages for a shell are tested in zsh too.
zsh:
	@command -v zsh >/dev/null && exit 0; \
	root=; if [ "$$(id -u)" != 0 ]; then root='sudo -n'; fi; \
	if command -v apt-get >/dev/null && $$root true 2>/dev/null; then \
		$$root apt-get update -qq && $$root apt-get install -y -qq --no-install-recommends zsh >/dev/null && exit 0; \
	fi; \
	echo "zsh is missing and could not be installed: blocks of the pages are not tested in it"

# Where nothing may be skipped, the programs that tests need come first.
ifeq ($(REQUIRE_EMULATOR),1)
test: zsh
endif

%/node_modules/.installed: %/package-lock.json
ifneq ($(NPM),)
	cd $* && npm ci --no-audit --no-fund --loglevel=error
	touch $@
else
	@echo "npm is missing: the tests in $* are skipped"
endif

# One emulator serves the whole run. Each test runs once; lint builds and vets everything both with the workspace and
# without it.
WITH_EMULATOR := cd shared && go run ./store/emulator/cmd/withemulator -- $(MAKE) -C .. --no-print-directory

test: lint
	$(WITH_EMULATOR) test-inside

race:
	$(WITH_EMULATOR) race-inside

proof: setup race
	$(WITH_EMULATOR) proof-inside
ifneq ($(NPM)$(REQUIRE_EMULATOR),)
	$(MAKE) --no-print-directory conformance
else
	@echo "npm is missing: the MCP conformance suite is skipped"
endif

# The tests of attacks are those whose names begin with TestAttack. They are in make test too, in a short form: a test
# with a longer one reads PARLEY_ATTACK.
attack: export PARLEY_ATTACK := long
attack: setup
	$(WITH_EMULATOR) attack-inside

# CI runs this after make proof, which installs the npm packages. Checks that cannot be made are skipped, with the
# reason.
security:
	GOVULNCHECK=$(GOVULNCHECK) .ci/security $(MODULES) $(DIST)

.PHONY: test-inside race-inside attack-inside proof-inside
# The packages of all modules that are tested with the workspace, and those of the current module that are tested
# without it.
# The module with the longest tests comes first.
WORK  := go list $(foreach m,$(HARNESS) $(filter-out $(HARNESS),$(MODULES)),./$(m)/...) | grep -vE '$(PROOF)|$(SHIPS)|$(DEPLOYED)'
ALONE := go list ./... | grep -E '$(SHIPS)'

test-inside:
	go test $(PARALLEL) $(QUICK) -timeout 8m $$($(WORK))
	for m in $(HUB) $(HARNESS); do \
		(cd $$m && GOWORK=off go test $(PARALLEL) $(QUICK) -timeout 8m $$($(ALONE))); done

# The tests under the race detector, which make them several times slower.
race-inside:
	go test -race $(PARALLEL) -timeout 15m $$($(WORK) | grep -vE '$(NO_RACE)')
	cd $(HUB) && GOWORK=off go test -race $(PARALLEL) -timeout 15m $$($(ALONE) | grep -vE '$(NO_RACE)')

attack-inside:
	found=; for m in $(MODULES); do cd $(CURDIR)/$$m; p=; dirs=$$(go list -f '{{.Dir}}' ./...); \
		for d in $$dirs; do \
			if grep -qs '^func TestAttack' "$$d"/*_test.go; then p="$$p $$d"; fi; \
		done; \
		if [ -n "$$p" ]; then found=1; go test $(PARALLEL) -count=1 -timeout 30m -run '^TestAttack' $$p; fi; \
	done; [ -n "$$found" ] || { echo "no test has a name that begins with TestAttack"; exit 1; }

proof-inside:
	cd $(HARNESS) && GOWORK=off go test -timeout 15m $$(go list ./... | grep -E '$(PROOF)')
	cd functions && GOWORK=off go test -timeout 15m $$(go list ./... | grep -E '$(DEPLOYED)')
	cd $(DIST) && export GOWORK=off && go run $(STATICCHECK) ./... && go vet ./... && go test -timeout 25m ./...

generate:
	cd $(HARNESS) && go run ./cmd/generate
	cd $(HARNESS) && go run ./cmd/icons ../internal/page/assets
	cd shared && go run ./client/generate
	cd shared && go test ./app -run Golden -update
	cd $(HARNESS) && go test ./mcp -run Golden -update
	cd $(HARNESS) && go test ./catalogue -run TestTheTableOfScale -update

# staticcheck compiles with the workspace, vet without it.
lint:
	@out=$$(gofmt -l $(MODULES) $(DIST)); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi
	go run $(STATICCHECK) $(foreach m,$(MODULES),./$(m)/...)
	for m in $(MODULES); do (cd $$m && GOWORK=off go build ./... && GOWORK=off go vet ./...); done
	cd $(HUB) && go vet -tags conformance,parleybench ./... && go vet -tags laptop ./internal/cloud

bench: build
	cd $(HARNESS) && go run ./cmd/bench

# Runs two servers over the emulator, and kills one every few seconds.
chaos: $(HARNESS)/e2e/node_modules/.installed
	cd $(HARNESS) && go run ./cmd/chaos -for 60s -agents 32

# Exits with status 1 if something is lost or comes twice, or past the limits of the wakes and of the server's memory.
scale:
	cd $(HARNESS) && go run ./cmd/scale

conformance: $(HARNESS)/conformance/node_modules/.installed
	cd $(HARNESS) && go run ./conformance

include infra/deploy.mk

clean:
	rm -rf bin dist $(foreach d,agents browser clients e2e firebase conformance,$(HARNESS)/$d/node_modules)
