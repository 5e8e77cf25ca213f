#!/bin/sh
# Prints a folder for DOCKER_CONFIG with the plugins compose and buildx of Docker, and what base images are made of where no registry of
# images is in reach: debian.tar, a Debian with nothing but what it needs to be one, and node.tar and go.tar, that with this machine's Node.js
# and Go. For root on Debian; takes minutes once.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
fail() {
	echo "compose-tool.sh: $*" >&2
	exit 1
}
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then fail "run it as root on a Debian"; fi
missing=
for program in iptables debootstrap; do command -v "$program" >/dev/null || missing="$missing $program"; done
if [ -n "$missing" ]; then
	log=$(mktemp)
	# shellcheck disable=SC2086 # words
	{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1 </dev/null ||
		{ cat "$log" >&2; fail "apt-get could not install$missing"; }
	rm "$log"
fi
tool=${HARNESS_CACHE:-$here/../.cache}/tools/compose
if [ ! -d "$tool" ]; then
	made=$tool.tmp.$$
	trap 'rm -rf "$made"' EXIT
	mkdir -p "$made/cli-plugins"
	cp "$("$here/tool.sh" compose github.com/docker/compose/v5 cmd)" "$made/cli-plugins/docker-compose"
	cp "$("$here/tool.sh" buildx github.com/docker/buildx cmd/buildx github.com/docker/buildx/version.Version)" "$made/cli-plugins/docker-buildx"
	debootstrap --variant=minbase bookworm "$made/debian" >"$made/log" 2>&1 || { cat "$made/log" >&2; fail "debootstrap failed"; }
	# Who this machine trusts is trusted in the images that are built, too: packages come the same way.
	install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$made/debian/etc/ssl/certs/ca-certificates.crt"
	tar -C "$made/debian" -cf "$made/debian.tar" .
	rm -rf "$made/debian"
	cp "$made/debian.tar" "$made/node.tar"
	cp "$made/debian.tar" "$made/go.tar"
	node=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
	tar -C / -rf "$made/node.tar" "${node#/}/bin/node" "${node#/}/bin/npm" "${node#/}/lib/node_modules/npm"
	goroot=$(go env GOROOT)
	tar -C "$goroot/.." --transform 's#^[^/]*#usr/local/go#' -rf "$made/go.tar" "$(basename "$goroot")"
	mv "$made" "$tool"
	trap - EXIT
fi
echo "$tool"
