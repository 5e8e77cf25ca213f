#!/bin/sh
# A first turn without an account: a server of its own, a real codex, and a scripted model in place of OpenAI's. The model asks to write a file,
# codex asks whether it may, and you answer in this terminal. Everything is in a temporary folder that is gone afterwards; nothing of yours is
# read or changed. Arguments go to `harness run` (--approve accept: without questions).
set -eu

cd "$(dirname -- "$0")/.."
root=$PWD
harness=${HARNESS_BIN:-$root/bin/harness}
model=${MOCKMODEL_BIN:-$root/bin/mockmodel}
codex=${CODEX_BIN:-$(command -v codex || scripts/agents.sh codex)}

dir=$(mktemp -d)
server_pid='' model_pid=''
finish() {
	trap - EXIT INT TERM HUP
	for pid in $server_pid $model_pid; do
		kill "$pid" 2>/dev/null || :
		wait "$pid" 2>/dev/null || :
	done
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# first FILE PATTERN prints what a program says once it is up: the first line of the file that fits, as sed -n makes it.
first() {
	tries=600
	while [ "$tries" -gt 0 ]; do
		said=$(sed -n "$2" "$1" 2>/dev/null | head -n 1)
		if [ -n "$said" ]; then
			echo "$said"
			return 0
		fi
		sleep 0.1
		tries=$((tries - 1))
	done
	echo "demo.sh: this did not come up:" >&2
	cat "$1" >&2
	return 1
}

mkdir "$dir/home" "$dir/work"
"$model" >"$dir/model" 2>&1 &
model_pid=$!
url=$(first "$dir/model" '/^http/p')
cp tests/codextest/catalog.json "$dir/home/"
cat >"$dir/home/config.toml" <<EOF
model = "mock-model"
model_provider = "mock"
model_catalog_json = "$dir/home/catalog.json"
[model_providers.mock]
name = "Mock"
base_url = "$url"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
EOF

cd "$dir/work"
# It is alone: other servers of this machine neither see it nor have it ask for a token. Of the environment only what programs need to run:
# settings, keys and a database of yours are not this server's. exec: what is started in the background is the program, which can be ended, and
# no shell around it.
clean() { exec env -i PATH="$PATH" HOME="$dir/home" TERM="${TERM:-dumb}" "$@"; }
clean CODEX_HOME="$dir/home" CODEX_BIN="$codex" HARNESS_RUNTIMES=codex DATA_DIR="$dir/data" PORT=0 HARNESS_LOG_FORMAT=json \
	HARNESS_DETACH_GRACE_MS=0 HARNESS_TRUST_LOCAL=true XDG_RUNTIME_DIR="$dir" "$harness" serve >"$dir/log" 2>&1 &
server_pid=$!
url=$(first "$dir/log" 's/.*"url":"\(http[^"]*\)".*/\1/p')

echo "A server with a scripted model is at $url (its log: $dir/log)."
echo "The prompt is: write \"hello\" into a file. It may not without you; answer y, or why not."
echo
code=0
(clean HARNESS_URL="$url" "$harness" run --approval-policy untrusted --sandbox workspace-write "$@" \
	'MOCK_CMD[echo hello > hello.txt]') || code=$?
echo
if [ -f hello.txt ]; then echo "hello.txt says: $(cat hello.txt)"; else echo "hello.txt was not written."; fi
if [ "$code" = 0 ] && [ -t 0 ]; then
	echo
	echo "Go on in another terminal while this one waits (words for the model: MOCK_CMD[a command], MOCK_REPLY[an answer]):"
	echo "  HARNESS_URL=$url $harness run 'MOCK_REPLY[hi]'"
	echo "  HARNESS_URL=$url $harness sessions list"
	echo "  $url in a browser; $url/api/docs is the API"
	printf 'Enter ends the demo: '
	read -r _ || :
fi
exit "$code"
