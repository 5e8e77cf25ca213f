package transcript

import (
	"bytes"
	"encoding/json"
)

// Indented is JSON with an indent of 2 spaces, as clients are shown details; what is not JSON stays as it is.
func Indented(raw json.RawMessage) string {
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return string(raw)
	}
	return out.String()
}
