#!/bin/sh
# Prints the path of the pinned golangci-lint (scripts/lint/go.mod).
exec "$(dirname -- "$0")/tool.sh" lint github.com/golangci/golangci-lint/v2 cmd/golangci-lint
