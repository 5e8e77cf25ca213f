#!/bin/sh
# Builds the web console from console/web into console/dist/app, from where it is embedded, when its sources are newer than what is there.
#
#   scripts/console.sh [--required]
#
# Without Node.js and npm it says so and leaves things as they are, since the program builds without its console; with --required that is a
# failure.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
web=$here/../console/web
built=$here/../console/dist/app

without() {
	if [ "${1:-}" = --required ]; then
		echo "console.sh: $2" >&2
		exit 1
	fi
	echo "console.sh: building without the web console: $2" >&2
	exit 0
}

modern() { node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)'; }

if ! command -v npm >/dev/null 2>&1 || ! command -v node >/dev/null 2>&1; then
	without "${1:-}" "Node.js and npm are missing; install Node.js 20.19 or newer with npm"
elif ! modern; then
	without "${1:-}" "Node.js $(node --version) is too old; install 20.19 or newer"
fi

cd "$web"
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
	echo "console.sh: installing console dependencies (once, about 2 min)..." >&2
	if ! npm ci --silent --ignore-scripts --no-audit --no-fund >/dev/null; then
		without "${1:-}" "npm ci of console/web failed; is the registry reachable?"
	fi
	touch node_modules/.package-lock.json
fi
# The types of the API are made by the build; src/api/schema.d.ts is not committed.
if [ -e "$built/index.html" ] && [ -e src/api/schema.d.ts ] &&
	[ -z "$(find . ../../api/openapi.yaml -path ./node_modules -prune -o -type f -newer "$built/index.html" -print | head -n 1)" ]; then
	exit 0
fi
# Made beside its place and put there whole: a Go build that goes on meanwhile embeds the old one or the new one.
new=node_modules/.built
rm -rf "$new"
if ! out=$(npm run --silent build -- "$new" 2>&1); then
	echo "$out" >&2
	echo "console.sh: the console does not build" >&2
	exit 1
fi
rm -rf "$built"
mv "$new" "$built"
