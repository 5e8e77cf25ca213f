#!/bin/sh
# Brings the parts that the tests need: go, a C compiler for the race detector, npm, Python, both pinned codex versions, the other pinned
# agents, the generators of clients, a page of CopilotKit, an OpenID Connect provider, an S3 server, what commands are confined with (bubblewrap, socat, Docker), strace, what makes networks (iproute2,
# nftables), the Postgres server binaries, PgBouncer, pgBackRest, Chromium, and the web console. Nothing is skipped: what is missing and cannot be installed here is named in one line, and the exit code is 1.
# Running it again is cheap. It starts nothing: the Go test kit
# (tests/dbtest) starts its own private cluster.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

fail() {
	echo "setup-test.sh: $*" >&2
	exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# apt_root succeeds when packages can be installed without a prompt.
apt_root() { [ "$(id -u)" = 0 ] && have apt-get; }

# The log is shown only on failure: thousands of lines of a package manager hide the tests' own.
apt_install() {
	log=$(mktemp)
	echo "setup-test.sh: installing $* with apt-get" >&2
	if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } >"$log" 2>&1 </dev/null; then
		cat "$log" >&2
		rm -f "$log"
		fail "apt-get could not install $*"
	fi
	rm -f "$log"
}

check_go() {
	have go || fail "go is missing; install Go $(awk '$1 == "go" {print $2}' "$here/../go.mod") or newer from your package manager or go.dev/dl"
	(cd "$here/.." && go list -m >/dev/null) || fail "this Go ($(go env GOVERSION)) cannot build the module; install the version named in go.mod"
}

# On Linux the race detector is linked by the C compiler.
check_cc() {
	[ "$(uname -s)" = Linux ] || return 0
	if have "$(go env CC)"; then return 0; fi
	apt_root || fail "a C compiler is missing (go test -race needs one); as root: apt-get install gcc libc6-dev"
	apt_install gcc libc6-dev
}

check_npm() {
	have npm && return 0
	apt_root || fail "npm is missing; install Node.js with npm (Debian/Ubuntu, as root: apt-get install npm; macOS: brew install node)"
	apt_install npm
}

check_python() {
	have python3 && return 0
	apt_root || fail "python3 is missing; install it (Debian/Ubuntu, as root: apt-get install python3; macOS: brew install python)"
	apt_install python3
}

# postgres_bin prints the folder of a usable server; the places are those that tests/dbtest looks in.
postgres_bin() {
	for dir in "$(dirname -- "$(command -v initdb 2>/dev/null || echo /nonexistent/x)")" \
		/usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin /usr/pgsql-*/bin; do
		if [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ]; then
			echo "$dir"
			return 0
		fi
	done
	return 1
}

# install_postgres takes the server without the cluster and the service that Debian would make of it.
install_postgres() {
	conf=/etc/postgresql-common/createcluster.d/harness-test-setup.conf
	policy=/usr/sbin/policy-rc.d
	mkdir -p "$(dirname "$conf")"
	echo "create_main_cluster = false" >"$conf"
	made_policy=
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
		made_policy=$policy
	fi
	trap 'rm -f "$conf" ${made_policy:+"$made_policy"}' EXIT
	trap 'exit 1' INT TERM HUP
	apt_install postgresql
	rm -f "$conf" ${made_policy:+"$made_policy"}
	trap - EXIT INT TERM HUP
}

check_postgres() {
	if [ -n "${HARNESS_TEST_POSTGRES_URL:-}" ] || postgres_bin >/dev/null; then
		return 0
	fi
	apt_root || fail "Postgres is missing; install it (Debian/Ubuntu, as root: apt-get install postgresql; macOS: brew install postgresql) or set HARNESS_TEST_POSTGRES_URL to a database that may be written to"
	install_postgres
	postgres_bin >/dev/null || fail "postgresql is installed, but no initdb is in /usr/lib/postgresql/*/bin; set HARNESS_TEST_POSTGRES_URL"
}

# chromium_bin prints a usable Chromium; the places are those that tests/chromiumtest looks in.
chromium_bin() {
	for name in chromium chromium-browser google-chrome-stable google-chrome \
		/Applications/Chromium.app/Contents/MacOS/Chromium "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
		if command -v "$name"; then return 0; fi
	done
	return 1
}

check_chromium() {
	if [ -n "${HARNESS_TEST_CHROMIUM:-}" ]; then
		have "$HARNESS_TEST_CHROMIUM" || fail "HARNESS_TEST_CHROMIUM is $HARNESS_TEST_CHROMIUM, which is no program"
		return 0
	fi
	# The headless shell uses a third of the processor time. Where there is none, the whole browser does its work.
	if apt_root && ! have chromium-headless-shell && apt-cache show chromium-headless-shell >/dev/null 2>&1; then apt_install chromium-headless-shell; fi
	if chromium_bin >/dev/null; then return 0; fi
	apt_root || fail "Chromium is missing; install it (Debian, as root: apt-get install chromium; macOS: brew install --cask chromium) or name a Chromium or Chrome in HARNESS_TEST_CHROMIUM"
	apt_install chromium
	chromium_bin >/dev/null || fail "the package chromium brought no chromium (on Ubuntu it is a snap); install Google Chrome, or name a browser in HARNESS_TEST_CHROMIUM"
}

# check_socat: Claude Code's sandbox is bubblewrap and socat on Linux, and what the system has on macOS.
check_socat() {
	if [ "$(uname -s)" != Linux ] || have socat; then return 0; fi
	apt_root || fail "socat is missing; as root: apt-get install socat"
	apt_install socat
}

# check_strace: the order in which a server brings its files to the disk is read from its system calls.
check_strace() {
	if [ "$(uname -s)" != Linux ] || have strace; then return 0; fi
	apt_root || fail "strace is missing; install it (Debian/Ubuntu, as root: apt-get install strace)"
	apt_install strace
}

# check_tmux: codex's TUI runs in a terminal.
check_tmux() {
	if [ "$(uname -s)" != Linux ] || have tmux; then return 0; fi
	apt_root || fail "tmux is missing; install it (Debian/Ubuntu, as root: apt-get install tmux)"
	apt_install tmux
}

# check_pgbouncer: what a pooler in front of Postgres changes is tried with one.
check_pgbouncer() {
	if have pgbouncer || [ -x /usr/sbin/pgbouncer ]; then return 0; fi
	apt_root || fail "pgbouncer is missing; install it (Debian/Ubuntu, as root: apt-get install pgbouncer; macOS: brew install pgbouncer)"
	policy=/usr/sbin/policy-rc.d
	if [ -e "$policy" ]; then
		apt_install pgbouncer
		return 0
	fi
	# Debian would start it as a service.
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
	trap 'rm -f "$policy"' EXIT
	trap 'exit 1' INT TERM HUP
	apt_install pgbouncer
	rm -f "$policy"
	trap - EXIT INT TERM HUP
}

# check_network: as root the tests of many nodes make networks of their own.
check_network() {
	if [ "$(uname -s)" != Linux ] || [ "$(id -u)" != 0 ] || { have ip && have tc && have nft; }; then return 0; fi
	apt_root || fail "ip, tc or nft is missing; install iproute2 and nftables from your package manager"
	apt_install iproute2 nftables
}

# check_bubblewrap CODEX tries the one that codex brings, as Claude Code uses it. It is taken for both: codex does not get on with the older one
# of some distributions while its home is a temporary folder, as it is in tests.
check_bubblewrap() {
	[ "$(uname -s)" = Linux ] || return 0
	bwrap=$(dirname -- "$(dirname -- "$1")")/codex-resources/bwrap
	said=$("$bwrap" --ro-bind / / --unshare-net --unshare-pid --proc /proc --dev /dev true 2>&1) ||
		fail "bubblewrap does not work here ($said); allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, on Ubuntu also kernel.apparmor_restrict_unprivileged_userns=0)"
}

# fetch_modules: tests run without network, and build what has a go.mod of its own, and the release that is upgraded from.
fetch_modules() {
	for module in client scripts/client scripts/alerts scripts/site; do
		(cd "$here/../$module" && go mod download) || fail "the modules of $module could not be downloaded (go mod download)"
	done
	old=$(mktemp -d)
	commit=$(sed -n 's/^const before = "\([0-9a-f]*\)"$/\1/p' "$here/../tests/e2e/crashes/detach_upgrade_linux_test.go")
	git -C "$here" cat-file -e "$commit^{commit}" 2>/dev/null || commit=$(git -C "$here" rev-list --max-parents=0 HEAD | head -n 1) # a shallow clone
	for file in go.mod go.sum; do
		git -C "$here" show "$commit:$file" >"$old/$file" || fail "commit $commit is not in this repository; the tests build the release of then"
	done
	(cd "$old" && go mod download) || fail "the modules of commit $commit could not be downloaded (go mod download)"
	rm -rf "$old"
}

check_go
fetch_modules
check_cc
check_npm
check_python
check_socat
check_strace
check_tmux
check_network
check_postgres
check_pgbouncer
check_chromium
check_bubblewrap "$("$here/agents.sh" codex)"
"$here/agents.sh" >/dev/null
"$here/console.sh" --required
"$here/clients.sh" >/dev/null
"$here/clients.sh" acp-clients >/dev/null
"$here/clients.sh" mcp-clients >/dev/null
"$here/clients.sh" copilotkit >/dev/null
"$here/oidc-tool.sh" >/dev/null
"$here/s3-tool.sh" >/dev/null || fail "the S3 server of the tests could not be built (scripts/s3/go.mod)"
if [ "$(uname -s)" = Linux ]; then
	"$here/docker-tool.sh" >/dev/null
	"$here/pgbackrest-tool.sh" >/dev/null
	"$here/patroni-tool.sh" >/dev/null
fi
