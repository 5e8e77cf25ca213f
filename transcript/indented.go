package transcript

import (
	"bytes"
	"encoding/json"
)

// Indented returns JSON indented by 2 spaces, the form in which clients see details. It returns other text unchanged.
func Indented(raw json.RawMessage) string {
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return string(raw)
	}
	return out.String()
}
