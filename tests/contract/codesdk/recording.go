// Package codesdk replays recordings of the codesdkd daemon against this server's task API. It reports the
// differences that a client could notice.
//
// It owns the recordings (testdata), the comparison without ids, times and the model's text, and the table of
// deliberate differences (rows.go). It must never know the server's internals: it sends HTTP to a URL, and uses its
// Target for actions that no client can take.
package codesdk

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"io"
)

//go:embed testdata/*.jsonl.gz
var recordings embed.FS

// Record is one line of a recording: an exchange, or an element of a stream.
type Record struct {
	// Method, Path, Body, Status and Answer describe a request. Status is 0 when the daemon crashed. For a stream they
	// describe its opening.
	Method string          `json:"m"`
	Path   string          `json:"p"`
	Body   json.RawMessage `json:"b"`
	Status int             `json:"s"`
	Answer json.RawMessage `json:"a"`
	// Stream names a stream. Its record is its opening (Path is set), its first frame (Ready) or an event.
	Stream string            `json:"stream"`
	Sent   map[string]string `json:"h"`
	Ready  json.RawMessage   `json:"ready"`
	Event  json.RawMessage   `json:"event"`
}

// Topics are the available recordings.
func Topics() []string {
	return []string{"cli-daemon", "tasks", "ask-approve-deny", "seq-collision", "limits"}
}

// Load reads the recording of a topic.
func Load(topic string) ([]Record, error) {
	packed, err := recordings.ReadFile("testdata/" + topic + ".jsonl.gz")
	if err != nil {
		return nil, fmt.Errorf("there is no recording %q: %w", topic, err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack the recording %s: %w", topic, err)
	}
	content, err := io.ReadAll(unpacked)
	if err != nil {
		return nil, fmt.Errorf("unpack the recording %s: %w", topic, err)
	}
	var records []Record
	for line := range bytes.Lines(content) {
		var record Record
		if err := json.Unmarshal(line, &record); err != nil {
			return nil, fmt.Errorf("read the recording %s: %w", topic, err)
		}
		records = append(records, record)
	}
	return records, nil
}
