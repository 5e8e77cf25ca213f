#!/bin/sh
# Prints the folder with Docker's programs that the tests start an engine of their own with: those of this machine, or Debian's.
set -eu

if dockerd=$(command -v dockerd) && command -v containerd >/dev/null && command -v runc >/dev/null && command -v docker >/dev/null; then
	dirname -- "$dockerd"
	exit 0
fi
exec "$(dirname -- "$0")/debian-tool.sh" docker docker.io containerd runc tini
