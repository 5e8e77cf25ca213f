package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"harness/tests/programtest"
	"harness/transcript"
)

// mirror is a client's copy of a session: a snapshot, with the later frames applied.
type mirror struct {
	t       *testing.T
	session string
	entries map[string]transcript.Entry
	cursor  int64
	// fresh are the entries that no frame has changed since the snapshot.
	fresh map[string]bool
	ended bool
}

// take replaces the copy with a snapshot. It returns false if the server is down.
func (m *mirror) take(server *programtest.Server, window bool) bool {
	path := "/api/sessions/" + m.session
	if window {
		path += "?limit=1000"
	}
	status, raw, err := server.Try(http.MethodGet, path, nil)
	if err != nil || status != http.StatusOK {
		return false
	}
	var read struct {
		Transcript []transcript.Entry
		Pos        *int64
	}
	if err := json.Unmarshal(raw, &read); err != nil || read.Pos == nil {
		m.t.Errorf("no snapshot: %v %.200s", err, raw)
		return false
	}
	m.entries, m.fresh, m.cursor = map[string]transcript.Entry{}, map[string]bool{}, *read.Pos
	for _, entry := range read.Transcript {
		m.entries[entry.MessageID], m.fresh[entry.MessageID] = entry, true
		m.ended = m.ended || entry.MessageID == endOfSession
	}
	return true
}

const endOfSession = "end-of-session"

// listen applies up to count frames after the cursor, fewer if the session or the server ends.
func (m *mirror) listen(server *programtest.Server, count int) {
	ctx, cancel := context.WithTimeout(context.Background(), programtest.Patience)
	defer cancel()
	address := fmt.Sprintf("ws%s/api/stream?after=%d&threadId=%s", strings.TrimPrefix(server.URL, "http"),
		m.cursor, m.session)
	conn, _, err := websocket.Dial(ctx, address, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(-1)
	for ; count > 0 && !m.ended; count-- {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var f programtest.Frame
		if err := json.Unmarshal(data, &f); err != nil {
			m.t.Errorf("no JSON: %q", data)
			return
		}
		if f.Type == "gap" || f.Type == "ahead" {
			m.t.Errorf("after %d the server says %s", m.cursor, data)
		}
		m.apply(f)
		m.cursor = max(m.cursor, f.Pos)
	}
}

// apply applies a frame to a transcript.
func (m *mirror) apply(f programtest.Frame) {
	switch f.Type {
	case "transcript_updated":
		var payload struct{ Entry transcript.Entry }
		m.decode(f.Payload, &payload)
		m.put(payload.Entry)
		m.ended = m.ended || payload.Entry.MessageID == endOfSession
	case "session_rolled_back":
		var payload struct{ TurnIDs []string }
		m.decode(f.Payload, &payload)
		for id, entry := range m.entries {
			for _, turn := range payload.TurnIDs {
				if entry.TurnID == turn {
					delete(m.entries, id)
				}
			}
		}
	case "notification":
		m.notice(f)
	}
}

func (m *mirror) decode(raw json.RawMessage, into any) {
	if err := json.Unmarshal(raw, into); err != nil {
		m.t.Errorf("%s: %v", raw, err)
	}
}

func (m *mirror) put(entry transcript.Entry) {
	if old, known := m.entries[entry.MessageID]; known {
		entry = transcript.Merge(old, entry)
	}
	m.entries[entry.MessageID] = entry
	delete(m.fresh, entry.MessageID)
}

func (m *mirror) notice(f programtest.Frame) {
	var payload struct {
		Method string
		Params struct {
			TurnID, ItemID, Delta string
			Item                  struct {
				ID, Type, Text string
				Content        []struct{ Text string }
			}
			Turn struct{ ID, Status string }
		}
	}
	m.decode(f.Payload, &payload)
	params := payload.Params
	switch payload.Method {
	case "item/started", "item/completed":
		entry := transcript.Entry{MessageID: params.Item.ID, TurnID: params.TurnID, Type: params.Item.Type, Role: "assistant",
			Content: params.Item.Text, Status: transcript.Streaming}
		if params.Item.Type == "userMessage" {
			entry.Role = "user"
			for _, part := range params.Item.Content {
				entry.Content += part.Text
			}
		}
		if payload.Method == "item/completed" {
			entry.Status = transcript.Complete
		}
		m.put(entry)
	case programtest.AgentDelta:
		entry, known := m.entries[params.ItemID]
		switch {
		case !known || f.Offset == nil || *f.Offset > int64(len(entry.Content)):
			m.t.Errorf("a hole: the client has %d of item %s, gets %s", len(entry.Content), params.ItemID, f.Raw)
			return
		case m.fresh[params.ItemID] && *f.Offset != int64(len(entry.Content)):
			m.t.Errorf("a double: the snapshot has %d of item %s, the first frame after it begins at %d", len(entry.Content),
				params.ItemID, *f.Offset)
		}
		entry.Content = entry.Content[:*f.Offset] + params.Delta
		m.entries[params.ItemID] = entry
		delete(m.fresh, params.ItemID)
	case "turn/completed":
		for id, entry := range m.entries {
			if entry.TurnID != params.Turn.ID || entry.Status != transcript.Streaming {
				continue
			}
			entry.Status = transcript.Canceled
			if params.Turn.Status == "completed" {
				entry.Status = transcript.Complete
			}
			m.entries[id] = entry
		}
	}
}

// run reads snapshots and follows the stream at random until the session has ended.
func (m *mirror) run(current func() *programtest.Server, random *rand.Rand) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for m.entries == nil || !m.ended {
		if m.entries == nil || random.IntN(3) == 0 {
			m.take(current(), random.IntN(2) == 0)
		} else {
			m.listen(current(), 1+random.IntN(80))
		}
		<-ticker.C
	}
}

// words returns the contents of a copy, for comparison.
func words(entries map[string]transcript.Entry) map[string]string {
	said := map[string]string{}
	for id, e := range entries {
		said[id] = fmt.Sprintf("%s %s %s %s %q", e.TurnID, e.Role, e.Type, e.Status, e.Content)
	}
	return said
}
