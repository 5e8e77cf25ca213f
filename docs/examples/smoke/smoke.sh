#!/bin/sh
# Makes a codex-manager client's calls with curl: create a session, send a message, approve a command, interrupt a turn, write a
# transcript entry; ./watch follows the websocket. It ends with "smoke: ok", or names the step that failed.
#
#   URL=http://127.0.0.1:3001 ./smoke.sh
#
# URL      the server
# WATCH    the websocket client (default: go run ./watch beside this script)
# ASKING   a message whose turn needs an approval
# LASTING  a message whose turn is still running when it is interrupted
set -eu
URL=${URL:-http://127.0.0.1:3001}
here=$(cd "$(dirname "$0")" && pwd)
WATCH=${WATCH:-go run $here/watch}
ASKING=${ASKING:-Run the shell command: touch smoke.txt}
LASTING=${LASTING:-Count slowly from one to one thousand.}
frames=$(mktemp)
watcher=
trap 'test -z "$watcher" || kill "$watcher" 2>/dev/null || true; rm -f "$frames"' EXIT

fail() { echo "smoke: $*" >&2; exit 1; }
post() { curl -fsS -X POST -H 'content-type: application/json' -d "$2" "$URL$1"; }
get() { curl -fsS "$URL$1"; }
# field NAME: the first member of that name in the JSON on stdin, when it is a string.
field() { sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p' | head -n 1; }
# eventually WHAT COMMAND...: repeats the command for half a minute.
eventually() {
	what=$1
	shift
	for _ in $(seq 150); do
		if "$@" >/dev/null 2>&1; then return 0; fi
		sleep 0.2
	done
	fail "never: $what"
}
seen() { grep -q "$1" "$frames"; }
# Up to the first comma, so that later members of the same name do not count.
session_of() { sed 's/,.*//' | field sessionId; }

get /api/health | grep -q '"status":"ok"' || fail "the server is not healthy"
session=$(post /api/sessions '{}' | session_of)
test -n "$session" || fail "no session was created"
$WATCH "$URL" "$session" >"$frames" &
watcher=$!
eventually "the stream is open" seen '^ready'

post "/api/sessions/$session/messages" "{\"text\":\"$ASKING\"}" | grep -q '"accepted"' || fail "the message was not accepted"
approval() { get "/api/sessions/$session/approvals" | grep '"approvalId"'; }
eventually "an approval is asked for" approval
id=$(approval | sed 's/"approvalId":\("[^"]*"\).*/\n"approvalId":\1/' | field approvalId)
post "/api/approvals/$id/decision" '{"decision":"accept"}' | grep -q '"status":"ok"' || fail "the decision was refused"
eventually "the approval is resolved on the stream" seen '^approval_resolved'
eventually "the turn ends" seen '^notification turn/completed'

turn=$(post "/api/sessions/$session/messages" "{\"text\":\"$LASTING\"}" | field turnId)
eventually "the second turn streams" seen '^notification item/agentMessage/delta.*'"$turn"
post "/api/sessions/$session/interrupt" '{}' | grep -q "$turn" || fail "the turn was not interrupted"

entry='{"messageId":"smoke-1","turnId":"'$turn'","role":"system","type":"note","content":"written by the smoke test","status":"complete"}'
post "/api/sessions/$session/transcript/upsert" "$entry" | grep -q '"status":"ok"' || fail "the entry was not stored"
eventually "the entry is announced" seen '^transcript_updated'
get "/api/sessions/$session" | grep -q 'written by the smoke test' || fail "the entry is not in the transcript"
echo "smoke: ok"
