package main

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"
)

// jsonFlag is the value of -o for commands where it can only be json.
type jsonFlag struct{ on *bool }

// String implements pflag.Value.
func (f jsonFlag) String() string {
	if f.on != nil && *f.on {
		return "json"
	}
	return ""
}

// Type implements pflag.Value.
func (f jsonFlag) Type() string { return "string" }

// Set implements pflag.Value.
func (f jsonFlag) Set(text string) error {
	if text != "json" {
		return errors.New("it is json")
	}
	*f.on = true
	return nil
}

// addJSON adds the flags that make a command print JSON: --json, and -o json as in the commands for a server.
func addJSON(cmd *cobra.Command, on *bool, help string) {
	cmd.Flags().BoolVar(on, "json", false, help)
	cmd.Flags().VarP(jsonFlag{on}, "output", "o", "json: as --json")
}

// printJSON writes a value for people and for programs.
func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
