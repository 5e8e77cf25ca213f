// Package contract replays recordings of codex-manager against this server and reports the differences that a client
// would notice.
//
// It owns the recordings (testdata, made by ./gen), the comparison after normalising ids, times and paths, and the
// single table of deliberate differences (deliberate.go). It must never know the server's internals: it sends HTTP
// and websocket messages to a URL, and uses its Target for actions that no client can take (restart, kill the
// runtime).
package contract

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"io"
)

//go:embed testdata/*.jsonl.gz
var recordings embed.FS

// Kind is the kind of a Record.
type Kind string

// The kinds of records, in the order of a recording.
const (
	// KindMeta is the first record: the topic and the environment of the recorded server.
	KindMeta Kind = "meta"
	// KindHTTP is one request and its response.
	KindHTTP Kind = "http"
	// KindOpen is a client opening a websocket. KindUpgrade is the server's handshake, KindRefused its refusal.
	KindOpen    Kind = "open"
	KindUpgrade Kind = "upgrade"
	KindRefused Kind = "refused"
	// KindFrame is a message or pong from the server. KindSend is a message from the client. KindClosed is the end of
	// the connection.
	KindFrame  Kind = "frame"
	KindSend   Kind = "send"
	KindClosed Kind = "closed"
	// KindRaw is bytes sent after a handshake and the bytes received.
	KindRaw Kind = "raw"
	// KindNote is an action of the recorder outside the API.
	KindNote Kind = "note"
)

// Record is one line of a recording. Texts have {{WORK}} (the workspace), {{LAB}} and {{HOME}} in place of the
// recorder's paths.
type Record struct {
	Kind Kind              `json:"k"`
	Env  map[string]string `json:"env,omitempty"`
	Name string            `json:"n,omitempty"`
	// HTTP.
	Method          string      `json:"m,omitempty"`
	Path            string      `json:"p,omitempty"`
	Headers         [][2]string `json:"h,omitempty"`
	Body            *string     `json:"b,omitempty"`
	Status          int         `json:"s,omitempty"`
	ResponseHeaders [][2]string `json:"rh,omitempty"`
	ResponseBody    string      `json:"rb,omitempty"`
	// Websocket.
	Conn      string   `json:"c,omitempty"`
	Protocols []string `json:"protocols,omitempty"`
	// Control is close, ping or pong, "" for a message. Binary is its kind, Data its content.
	Control string `json:"ctl,omitempty"`
	Binary  bool   `json:"bin,omitempty"`
	Data    string `json:"d,omitempty"`
	// Code and Reason are those of a close frame. Code 0 sends no code.
	Code   int    `json:"code,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Type, Method and Thread of a frame remain when Data is omitted because an earlier socket got the same frame
	// (Same).
	Type   string `json:"t,omitempty"`
	Thread string `json:"th,omitempty"`
	Detail string `json:"x,omitempty"`
	Same   bool   `json:"same,omitempty"`
	// Sent and Received are hex.
	Sent     string `json:"sent,omitempty"`
	Received string `json:"received,omitempty"`
}

// Load reads the recording of a topic.
func Load(topic string) ([]Record, error) {
	packed, err := recordings.ReadFile("testdata/" + topic + ".jsonl.gz")
	if err != nil {
		return nil, fmt.Errorf("there is no recording of %q: %w", topic, err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("recording of %s: %w", topic, err)
	}
	var records []Record
	reader := bufio.NewReaderSize(unpacked, 1<<16)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			var r Record
			if err := json.Unmarshal(line, &r); err != nil {
				return nil, fmt.Errorf("recording of %s, line %d: %w", topic, len(records)+1, err)
			}
			records = append(records, r)
		}
		if err == io.EOF {
			return records, nil
		}
		if err != nil {
			return nil, fmt.Errorf("recording of %s: %w", topic, err)
		}
	}
}
