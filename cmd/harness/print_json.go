package main

import (
	"encoding/json"
	"io"
)

// printJSON writes a value for people and for programs that read this one's output.
func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
