#!/bin/sh
# make-database ADDRESS: run by Patroni once, at the first primary, before there is a standby that commits could wait for.
set -eu

PGOPTIONS='-c synchronous_commit=local' psql -v ON_ERROR_STOP=1 -v "password=$HARNESS_POSTGRES_PASSWORD" "$1" <<'SQL'
create role harness login password :'password';
create database harness owner harness;
SQL
