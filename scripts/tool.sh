#!/bin/sh
# tool.sh FOLDER MODULE PACKAGE [VARIABLE] builds a tool as pinned in scripts/FOLDER/go.mod into the cache when it is not there yet, and prints
# its path. VARIABLE of the tool is its version, where others ask for that.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
folder=$1 module=$2 package=$3
version=$(awk -v p="$module" '$1 == p {print $2} $1 == "require" && $2 == p {print $3}' "$root/scripts/$folder/go.mod")
[ -n "$version" ] || { echo "tool.sh: scripts/$folder/go.mod does not require $module" >&2; exit 1; }
cache=${HARNESS_CACHE:-$root/.cache}/tools
tool=$cache/$(basename "$package")-$version-$(cd "$root" && go env GOVERSION)
if [ ! -x "$tool" ]; then
	echo "tool.sh: building $(basename "$package") $version (once, takes minutes)" >&2
	mkdir -p "$cache"
	(cd "$root/scripts/$folder" && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w ${4:+-X $4=$version}" -o "$tool.tmp.$$" "$module/$package")
	mv "$tool.tmp.$$" "$tool"
fi
echo "$tool"
