#!/bin/sh
# Installs the native codex binary of this platform into a cache folder and prints its path, one line per version.
#
#   scripts/codex.sh [VERSION...]     versions, or the names of scripts/codex.versions ("default", "oldest"); none means all of those
#
# HARNESS_CACHE names the cache folder (default: .cache in the repository). Running it again is cheap. The native binary is used and not
# the npm wrapper, because the wrapper is a node parent: signals and the process id would be the wrong ones.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cache=${HARNESS_CACHE:-$here/../.cache}
mkdir -p "$cache/codex"
cache=$(CDPATH='' cd -- "$cache/codex" && pwd)

fail() {
	echo "codex.sh: $*" >&2
	exit 1
}

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "no codex binary for $(uname -s); Linux and macOS are supported" ;;
esac
case $(uname -m) in
x86_64 | amd64) cpu=x64 ;;
aarch64 | arm64) cpu=arm64 ;;
*) fail "no codex binary for $(uname -m); x86_64 and arm64 are supported" ;;
esac

sha256() {
	if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d' ' -f1
}

# binary FOLDER prints the codex executable inside an unpacked package; the folder layout differs by version.
binary() {
	for f in "$1"/vendor/*/bin/codex "$1"/vendor/*/codex/codex; do
		if [ -x "$f" ]; then
			echo "$f"
			return
		fi
	done
	return 1
}

install_one() {
	version=$1
	target=$cache/$version
	if [ -f "$target/path" ] && [ -x "$target/$(cat "$target/path")" ]; then
		echo "$target/$(cat "$target/path")"
		return
	fi
	command -v npm >/dev/null 2>&1 || fail "npm is missing; install Node.js with npm (Debian/Ubuntu: apt-get install npm, macOS: brew install node)"
	work=$(mktemp -d "$cache/.tmp-$version-XXXXXX")
	trap 'rm -rf "$work"' EXIT INT TERM HUP
	spec=@openai/codex@$version-$os-$cpu
	(cd "$work" && npm pack --silent "$spec" >/dev/null) || fail "npm pack $spec failed; is the registry reachable and does the version exist?"
	tarball=$(ls "$work"/*.tgz)
	want=$(awk -v n="$version-$os-$cpu" '$2 == n {print $1}' "$here/codex.sums")
	got=$(sha256 "$tarball")
	if [ -z "$want" ]; then
		echo "codex.sh: no checksum for $version-$os-$cpu in scripts/codex.sums (got $got); relying on npm's own integrity check" >&2
	elif [ "$want" != "$got" ]; then
		fail "checksum of $spec is $got, scripts/codex.sums says $want"
	fi
	tar -xzf "$tarball" -C "$work"
	found=$(binary "$work/package") || fail "no codex executable inside $spec"
	# Everything the package holds stays beside the binary: it finds its sandbox and code-mode helpers relative to itself.
	printf '%s\n' "${found#"$work/package/"}" >"$work/package/path"
	if ! mv "$work/package" "$target" 2>/dev/null || [ -d "$target/package" ]; then
		# Somebody else installed it meanwhile (mv then moves into the folder, or refuses), or a broken folder stands in the way.
		if [ -d "$target/package" ]; then
			mv "$target/package" "$work/package"
		fi
		if [ ! -f "$target/path" ]; then
			mv "$target" "$work/broken"
			mv "$work/package" "$target"
		fi
	fi
	rm -rf "$work"
	trap - EXIT INT TERM HUP
	echo "$target/$(cat "$target/path")"
}

if [ $# -eq 0 ]; then
	set -- $(awk '{print $2}' "$here/codex.versions")
fi
for arg in "$@"; do
	named=$(awk -v n="$arg" '$1 == n {print $2}' "$here/codex.versions")
	install_one "${named:-$arg}"
done
