#!/bin/sh
# Installs pinned coding agents into a cache folder and prints the path of each one's executable, one line per agent.
#
#   scripts/agents.sh [NAME[@VERSION]...]     names of scripts/agents.versions (codex, claude, gemini, ...); none means all
#
# HARNESS_CACHE names the cache folder (default: .cache in the repository), HARNESS_AGENTS_VERSIONS another file of versions. Running it again is cheap. Native binaries are taken out of
# their platform packages and not from the npm wrappers, because a wrapper is a node parent: signals and the process id would be the wrong
# ones. Agents with dependencies (package "-") are installed from scripts/agents/NAME/package-lock.json, without their optional
# dependencies: those are second copies of the agents themselves.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cache=${HARNESS_CACHE:-$here/../.cache}
versions=${HARNESS_AGENTS_VERSIONS:-$here/agents.versions}
mkdir -p "$cache/agents" "$cache/codex"
cache=$(CDPATH='' cd -- "$cache" && pwd)

fail() {
	echo "agents.sh: $*" >&2
	exit 1
}

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "no agents for $(uname -s); Linux and macOS are supported" ;;
esac
case $(uname -m) in
x86_64 | amd64) cpu=x64 ;;
aarch64 | arm64) cpu=arm64 ;;
*) fail "no agents for $(uname -m); x86_64 and arm64 are supported" ;;
esac

sha512() {
	if command -v sha512sum >/dev/null 2>&1; then sha512sum "$1"; else shasum -a 512 "$1"; fi | cut -d' ' -f1
}

# avx2 succeeds when the processor runs the plain build of opencode; without it only the baseline build runs.
avx2() {
	[ "$cpu" = x64 ] || return 0
	if [ "$os" = linux ]; then grep -qw avx2 /proc/cpuinfo; else sysctl -n machdep.cpu.leaf7_features 2>/dev/null | grep -qw AVX2; fi
}

# package NAME VERSION TEMPLATE prints the npm package of this platform.
package() {
	platform=$os-$cpu
	if [ "$1" = opencode ] && ! avx2; then platform=$platform-baseline; fi
	echo "$3" | sed "s/PLATFORM/$platform/; s/VERSION/$2/"
}

# executable FOLDER ENTRY prints the path of an installed agent, whose entry may be a pattern.
executable() {
	for file in "$1"/$2; do
		if [ -x "$file" ]; then
			echo "$file"
			return
		fi
	done
	return 1
}

# fetch SPEC FOLDER unpacks a checked npm package into FOLDER/package.
fetch() {
	(cd "$2" && npm pack --silent "$1" >/dev/null) || fail "npm pack $1 failed; is the registry reachable, and has it this version for this platform?"
	tarball=$(ls "$2"/*.tgz)
	want=$(awk -v n="$1" '$2 == n {print $1}' "$here/agents.sums")
	got=$(sha512 "$tarball")
	if [ -z "$want" ]; then
		echo "agents.sh: no checksum for $1 in scripts/agents.sums (got $got); relying on npm's own integrity check" >&2
	elif [ "$want" != "$got" ]; then
		fail "checksum of $1 is $got, scripts/agents.sums says $want"
	fi
	tar -xzf "$tarball" -C "$2"
}

# locked NAME FOLDER VERSION installs what a lock file pins, with npm's check of every checksum in it, into FOLDER/package. Another
# version than the one of the lock file is installed with the dependencies npm chooses.
locked() {
	mkdir "$2/package"
	pinned=$(awk -v n="$1" '$1 == n {print $2}' "$here/agents.versions")
	if [ "$3" != "$pinned" ]; then
		sed "s/\"$pinned\"/\"$3\"/" "$here/agents/$1/package.json" >"$2/package/package.json"
		(cd "$2/package" && npm install --silent --ignore-scripts --omit=optional --no-audit --no-fund >/dev/null) ||
			fail "npm install of $1 $3 failed; is the registry reachable, and has it this version?"
		return
	fi
	cp "$here/agents/$1/package.json" "$here/agents/$1/package-lock.json" "$2/package/"
	(cd "$2/package" && npm ci --silent --ignore-scripts --omit=optional --no-audit --no-fund >/dev/null) ||
		fail "npm ci of scripts/agents/$1 failed; is the registry reachable?"
}

install_one() {
	name=$1 version=$2 template=$3 entry=$4
	case $name in
	codex | codex-recorded | codex-oldest) target=$cache/codex/$version ;;
	*) target=$cache/agents/$name-$version ;;
	esac
	if executable "$target" "$entry"; then return; fi
	command -v npm >/dev/null 2>&1 || fail "npm is missing; install Node.js with npm (Debian/Ubuntu: apt-get install npm, macOS: brew install node)"
	work=$(mktemp -d "$cache/agents/.tmp-$name-XXXXXX")
	trap 'rm -rf "$work"' EXIT INT TERM HUP
	if [ "$template" = - ]; then locked "$name" "$work" "$version"; else fetch "$(package "$name" "$version" "$template")" "$work"; fi
	# Scripts come without the permission. Everything a package holds stays beside its executable, which finds its helpers there.
	for file in "$work/package"/$entry; do
		[ -f "$file" ] || fail "there is no $entry inside $name $version"
		chmod +x "$file"
	done
	if ! mv "$work/package" "$target" 2>/dev/null || [ -d "$target/package" ]; then
		# Another process installed it meanwhile (mv then moves into the folder, or refuses), or the folder
		# is broken.
		if [ -d "$target/package" ]; then
			mv "$target/package" "$work/package"
		fi
		if ! executable "$target" "$entry" >/dev/null; then
			mv "$target" "$work/broken"
			mv "$work/package" "$target"
		fi
	fi
	rm -rf "$work"
	trap - EXIT INT TERM HUP
	executable "$target" "$entry"
}

set -f # entries are patterns, but not yet
if [ $# -eq 0 ]; then
	set -- $(awk '{print $1}' "$versions")
fi
for arg in "$@"; do
	line=$(awk -v n="${arg%%@*}" '$1 == n' "$versions")
	[ -n "$line" ] || fail "$versions pins no agent called $arg; it has: $(awk '{print $1}' "$versions" | tr '\n' ' ')"
	set -- $line
	case $arg in *@*) set -- "$1" "${arg#*@}" "$3" "$4" ;; esac
	set +f
	install_one "$@"
	set -f
done
