// There is no Go here: this keeps the Go tools out of node_modules.
module harness/console/web

go 1.26
