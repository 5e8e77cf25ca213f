#!/bin/sh
# Prints the folder with pgbackrest: of this machine, or Debian's.
set -eu

if path=$(command -v pgbackrest); then
	dirname -- "$path"
	exit 0
fi
exec "$(dirname -- "$0")/debian-tool.sh" pgbackrest pgbackrest
