#!/bin/sh
# Walks README.md as a new user does, from the clone to the first turn, in a folder, a HOME and an environment of its own, and prints how many
# seconds each step took. The pinned agents come from the cache (HARNESS_CACHE, default .cache); Go's caches are those of this user, or with
# --cold empty ones (minutes, and downloads: `make run` on an empty machine). With --cold as root it runs as an unprivileged user.
set -eu

cd "$(dirname -- "$0")/.."
root=$PWD
cold='' as=''
case "${1:-}" in
--cold) cold=yes ;;
'') ;;
*)
	echo "usage: scripts/first-hour.sh [--cold]" >&2
	exit 2
	;;
esac
cache=${HARNESS_CACHE:-.cache}
mkdir -p "$cache"
cache=$(CDPATH= cd -- "$cache" && pwd -P)
go_cache=$(go env GOCACHE) go_modules=$(go env GOMODCACHE)

dir=$(mktemp -d /var/tmp/first-hour-XXXXXX) # codex does not get on with a home below the folder for temporary files
server=''
finish() {
	trap - EXIT INT TERM
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || :
	chmod -R u+w "$dir" # modules are read-only
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mkdir "$dir/home" "$dir/tmp"
if [ -n "$cold" ]; then
	go_cache=$dir/go-cache go_modules=$dir/go-modules
	if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null 2>&1; then
		as='setpriv --reuid=65534 --regid=65534 --clear-groups'
	fi
fi
# clean runs a command with nothing of this user's but what it takes to build.
clean() {
	# shellcheck disable=SC2086 # a command and its arguments, or nothing
	exec $as env -i PATH="$PATH" HOME="$dir/home" TMPDIR="$dir/tmp" TERM=dumb HARNESS_CACHE="$cache" PORT=0 HARNESS_LOG_FORMAT=json \
		GOCACHE="$go_cache" GOMODCACHE="$go_modules" GOPROXY="$(go env GOPROXY)" GOSUMDB="$(go env GOSUMDB)" GOFLAGS="$(go env GOFLAGS)" "$@"
}

began=$(date +%s)
# took LABEL prints what passed since the last step.
took() {
	now=$(date +%s)
	printf '%4d s  %s\n' $((now - began)) "$1"
	began=$now
}
# step LABEL COMMAND... runs a step of the README, and shows what it said only if it failed.
step() {
	label=$1
	shift
	if ! (clean "$@") >"$dir/said" 2>&1 </dev/null; then
		echo "first-hour.sh: $label failed:" >&2
		cat "$dir/said" >&2
		exit 1
	fi
	took "$label"
}
# expect TEXT: the step before has said it.
expect() {
	grep -q -- "$1" "$dir/said" && return 0
	echo "first-hour.sh: this does not say \"$1\":" >&2
	cat "$dir/said" >&2
	exit 1
}

# By who may read the original. Where that is no repository of git (an unpacked archive), its files are what is had.
if git rev-parse --git-dir >/dev/null 2>&1; then
	git clone -q "$root" "$dir/harness"
else
	mkdir "$dir/harness"
	tar -C "$root" --exclude=./.cache --exclude=./.data --exclude=./bin -cf - . | tar -C "$dir/harness" -xf -
fi
[ -z "$as" ] || chown -R 65534:65534 "$dir"
cd "$dir/harness"
took 'git clone'
step 'make build' make build
step 'make demo: the first turn, without an account' make demo 'DEMO_FLAGS=--approve accept'
expect 'hello.txt says: hello'

clean make run >"$dir/said" 2>&1 </dev/null &
server=$!
url=''
while [ -z "$url" ]; do
	kill -0 "$server" 2>/dev/null || expect 'harness is serving'
	sleep 0.1
	url=$(sed -n 's/.*"url":"\(http[^"]*\)".*"message":"harness is serving.*/\1/p' "$dir/said")
done
took 'make run: it serves'
expect 'make demo' # there is no login here
step 'bin/harness api /api/health' bin/harness api /api/health --url "$url"
expect '"status"'
step 'bin/harness sessions list' bin/harness sessions list --url "$url"
{ kill "$server" && wait "$server"; } 2>/dev/null || :
server=''
took 'it stops'
