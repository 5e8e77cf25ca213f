#!/bin/sh
# Stops the service when the package goes, not when it is upgraded: turns go on over an upgrade.
set -e
case ${1:-} in
remove | purge | 0)
	if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then systemctl disable --now harness.service || true; fi
	;;
esac
