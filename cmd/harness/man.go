//go:build man

package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan writes the manual. Released programs do not contain it: the release build runs it.
func newMan(root *cobra.Command) *cobra.Command {
	var date int64
	cmd := &cobra.Command{
		Use:    "man DIR",
		Short:  "Write a manual page for each command",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // for all users to read
				return fmt.Errorf("make the folder of the manual: %w", err)
			}
			at := time.Now()
			if date != 0 {
				at = time.Unix(date, 0).UTC()
			}
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &at, Source: "Harness", Manual: "Harness"}, args[0])
		},
	}
	cmd.Flags().Int64Var(&date, "date", 0, "date on the pages, in seconds since 1970 (default: now)")
	return cmd
}
