#!/bin/sh
# Starts harness in a container. As root it first takes what an image of before, whose server ran as the user of agents (10001), left in the
# data directory. As another user (docker run --user) it cannot run agents as yet another one.
set -eu

data=${DATA_DIR:-/data}
if [ "$(id -u)" != 0 ]; then
	unset HARNESS_RUNTIME_USER
	echo "harness-entrypoint: not root, so agents run as the server's user and can read $data" >&2
elif [ -d "$data" ] && [ "$(stat -c %u "$data")" = 10001 ]; then
	chown -R root:root "$data"
	chmod 700 "$data"
fi
if [ -d /workspace/agents ] && [ ! -e /srv/harness/agents ]; then
	echo "harness-entrypoint: extensions in /workspace/agents are not loaded, agents can write there: mount them at /srv/harness/agents" >&2
fi
exec harness "$@"
