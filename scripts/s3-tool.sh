#!/bin/sh
# Prints the path of the pinned S3 server of the tests, versitygw (scripts/s3/go.mod).
exec "$(dirname -- "$0")/tool.sh" s3 github.com/versity/versitygw cmd/versitygw
