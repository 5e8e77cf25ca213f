// Command gendocs writes docs/configuration.md to standard output; see the
// docs target of the Makefile.
package main

import (
	"fmt"
	"os"

	"harness/internal/platform/config"
)

func main() {
	if err := config.WriteDocs(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
