#!/bin/sh
# Starts Patroni in a container: patroni.yml, with the networks of the container in place of the recipe's, and a database that is made once.
# Names, addresses and passwords come from PATRONI_... in the environment, which counts before the file.
set -eu

make-ssl-cert generate-default-snakeoil # does nothing when it is there
sed -e 's#10\.0\.0\.0/16#samenet#; s#10\.0\.1\.0/24#samenet#' -e 's#^  initdb:#  post_bootstrap: make-database\n  initdb:#' \
	/etc/patroni/recipe.yml > /etc/patroni/config.yml
export HOME=/var/lib/postgresql
exec setpriv --reuid postgres --regid postgres --init-groups patroni /etc/patroni/config.yml
