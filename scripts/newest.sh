#!/bin/sh
# Installs the newest version of each agent that npm has, runs the conformance suite of its adapter on it, and writes what came of it into
# docs/runtimes/tested.md.
#
#   scripts/newest.sh [NAME...]     names of scripts/agents.versions, and opencode-acp; none means all but codex-recorded and codex-oldest
#
# The pins stay what they are. An agent that was not tried keeps its line. Exit code 1 when a suite failed.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(dirname -- "$here")
page=${root}/docs/runtimes/tested.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

fail() {
	echo "newest.sh: $*" >&2
	exit 1
}

# package NAME prints the npm package whose newest version counts, SUITE NAME the tests and the package of the conformance suite.
package() {
	case $1 in
	codex) echo @openai/codex ;;
	claude) echo @anthropic-ai/claude-code ;;
	opencode) echo opencode-ai ;;
	gemini) echo @google/gemini-cli ;;
	claude-acp) echo @agentclientprotocol/claude-agent-acp ;;
	codex-acp) echo @agentclientprotocol/codex-acp ;;
	*) fail "there is no agent called $1; there are: codex claude opencode gemini claude-acp codex-acp opencode-acp" ;;
	esac
}
suite() {
	case $1 in
	codex) echo 'TestConformance ./internal/runtime/codex' ;;
	claude | opencode) echo "TestConformance ./runtime/$1" ;;
	gemini) echo 'TestGeminiConforms ./internal/runtime/acp' ;;
	*) echo "TestBridgesConform/$1\$ ./internal/runtime/acp" ;;
	esac
}

[ $# -gt 0 ] || set -- codex claude opencode gemini claude-acp codex-acp opencode-acp
cp "$here/agents.versions" "$work/versions"
for name in "$@"; do
	agent=$name
	[ "$name" != opencode-acp ] || agent=opencode
	newest=$(npm view "$(package "$agent")" version) || fail "npm has no newest version of $agent; is the registry reachable?"
	awk -v n="$agent" -v v="$newest" '$1 == n {$2 = v} {print}' "$work/versions" >"$work/next"
	mv "$work/next" "$work/versions"
done
export HARNESS_AGENTS_VERSIONS="$work/versions"

pinned() { awk -v n="$1" '$1 == n {print $2}' "$here/agents.versions"; }
chosen() { awk -v n="$1" '$1 == n {print $2}' "$work/versions"; }

[ ! -f "$page" ] || sed -n 's/^| `\([a-z-]*\)` .*/\1 &/p' "$page" >"$work/lines"
touch "$work/lines"
failed=0
for name in "$@"; do
	agent=$name
	[ "$name" != opencode-acp ] || agent=opencode
	"$here/agents.sh" "$agent" >/dev/null
	case $name in # what a bridge drives, and what the suite of codex runs beside
	codex) "$here/agents.sh" codex-oldest >/dev/null ;;
	claude-acp) "$here/agents.sh" claude >/dev/null ;;
	codex-acp) "$here/agents.sh" codex >/dev/null ;;
	esac
	set -- $(suite "$name")
	echo "newest.sh: $name $(chosen "$agent"): go test -run $1 $2" >&2
	if (cd "$root" && go test -count=1 -v -run "$1" "$2") >"$work/said" 2>&1; then
		result=passed
	else
		failed=1
		result="failed: $(sed -n 's/^ *--- FAIL: \([^ ]*\).*/\1/p' "$work/said" | awk '!/\//' | tr '\n' ' ')"
		tail -n 40 "$work/said" >&2
	fi
	grep -v "^$name " "$work/lines" >"$work/kept" || true
	echo "$name | \`$name\` | $(pinned "$agent") | $(chosen "$agent") | $result | $(date -u +%Y-%m-%d) |" >>"$work/kept"
	mv "$work/kept" "$work/lines"
done

{
	cat <<'EOF'
# The newest agents

Results of the conformance suite with the newest version of each agent on npm, the real agent and a scripted model. `make newest` writes
this page. All other tests use the pinned version. The server accepts a newer version and logs one warning.

| runtime | pinned | newest | suite | on |
|---|---|---|---|---|
EOF
	for name in codex claude opencode gemini claude-acp codex-acp opencode-acp; do
		sed -n "s/^$name //p" "$work/lines"
	done
} >"$work/page"
mv "$work/page" "$page"
exit $failed
