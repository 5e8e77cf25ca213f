//go:build !man

package main

import "github.com/spf13/cobra"

// newMan exists only in builds with the tag man.
func newMan(*cobra.Command) *cobra.Command { return nil }
