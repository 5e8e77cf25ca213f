#!/bin/sh
# Makes the user of agents and its folders. The service is started by who has looked at /etc/harness/harness.env.
set -e
# dpkg --root=DIR names the folder, where nothing runs.
root=${DPKG_ROOT:-}
if command -v systemd-sysusers > /dev/null; then systemd-sysusers --root="${root:-/}" harness.conf; fi
if command -v systemd-tmpfiles > /dev/null; then systemd-tmpfiles --root="${root:-/}" --create harness.conf || true; fi
if [ -z "$root" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
