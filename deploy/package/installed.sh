#!/bin/sh
# Makes the user of agents and its folders. The service is started by who has looked at /etc/harness/harness.env.
set -e
if command -v systemd-sysusers > /dev/null; then systemd-sysusers harness.conf; fi
if command -v systemd-tmpfiles > /dev/null; then systemd-tmpfiles --create harness.conf || true; fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
