#!/bin/sh
# Prints the folder with Debian's Patroni and etcd, for the Python of Debian (/usr/bin/python3).
set -eu

exec "$(dirname -- "$0")/debian-tool.sh" patroni patroni etcd-server python3-pkg-resources python3-yaml python3-six python3-psycopg2 \
	python3-dateutil python3-psutil python3-urllib3 python3-prettytable python3-click python3-cdiff python3-wcwidth python3-colorama \
	python3-dnspython python3-etcd
