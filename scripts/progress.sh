#!/bin/sh
# progress.sh LABEL COMMAND... runs a command and says what it is at: go prints nothing while it compiles, and a package's result only after
# those before it in the alphabet. Every PROGRESS_EVERY (30) seconds a line names what is compiled, linked, vetted and tested at that moment. The
# command's output and its exit code are its own.
set -eu

label=$1
shift
group=$(ps -o pgid= -p $$ 2>/dev/null | tr -d ' ') || group=

# doing names what the processes of this process group are at.
doing() {
	ps -A -ww -o pgid= -o etime= -o args= 2>/dev/null | awk -v group="$group" '
	function add(what, name) { all[what] = all[what] (all[what] == "" ? "" : ", ") name }
	$1 != group { next }
	{ parts = split($3, path, "/"); name = path[parts] }
	name == "compile" { for (i = 4; i < NF; i++) if ($i == "-p") add("compiling", $(i + 1)) }
	name == "link" || name == "vet" || name == "asm" || name == "cgo" { add("building", name) }
	name ~ /\.test$/ && $4 ~ /^-test\./ { sub(/\.test$/, "", name); add("testing", name " for " $2) }
	END { for (what in all) printf "; %s %s", what, all[what] }'
}

echo "== $label"
began=$(date +%s)
(
	while kill -0 $$ 2>/dev/null; do
		left=${PROGRESS_EVERY:-30}
		while [ "$left" -gt 0 ]; do
			sleep 1 >/dev/null 2>&1 # short, without any output held open: it may outlive this script
			left=$((left - 1))
		done
		spent=$(($(date +%s) - began))
		echo "== $label: $((spent / 60)) min $((spent % 60)) s$(doing)"
	done
) &
teller=$!
trap 'kill "$teller" 2>/dev/null || :' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

"$@"
