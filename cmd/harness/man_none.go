//go:build !man

package main

import "github.com/spf13/cobra"

// newMan is a command of builds with the tag man alone.
func newMan(*cobra.Command) *cobra.Command { return nil }
