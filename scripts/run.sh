#!/bin/sh
# Starts ./bin/harness serve with a codex: the one named by CODEX_BIN (environment or .env), else the one on PATH, else the pinned version,
# installed into the cache and named by bin/codex. Without npm the server still starts; its health answer then says that codex is missing and what to do.
set -eu

cd "$(dirname -- "$0")/.."

named() { [ -n "${CODEX_BIN:-}" ] || { [ -f .env ] && grep -Eq '^[[:space:]]*(export[[:space:]]+)?CODEX_BIN[[:space:]]*=[[:space:]]*[^[:space:]]' .env; }; }

if ! named && ! command -v codex >/dev/null 2>&1; then
	if found=$(scripts/agents.sh codex); then
		ln -sf "$found" bin/codex # harness looks there when there is none on PATH
	else
		echo "run.sh: starting without codex; see above" >&2
	fi
fi

# Who has no login yet sees a first turn before there is one.
if [ -z "${OPENAI_API_KEY:-}" ] && ! grep -qs '^[[:space:]]*model_provider' "${CODEX_HOME:-${HOME:-}/.codex}/config.toml" &&
	! bin/harness codex -- login status >/dev/null 2>&1; then
	echo "run.sh: codex has no login: bin/harness login, or OPENAI_API_KEY. A first turn without an account: make demo" >&2
fi
exec "$PWD/bin/harness" serve "$@" # by its whole path, to distinguish it from servers of other folders
