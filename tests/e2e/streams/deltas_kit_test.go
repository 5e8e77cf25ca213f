package streams

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// grown returns the texts that frames produce by the documented client rules, and the frames outside of texts. The
// name of a text is its frames' type, method and item.
func grown(t *testing.T, frames []programtest.Frame) (texts map[string]string, others []programtest.Frame) {
	t.Helper()
	units := map[string][]uint16{}
	for _, f := range frames {
		if f.Offset == nil {
			others = append(others, f)
			continue
		}
		name, delta := delta(f)
		if *f.Offset > int64(len(units[name])) {
			t.Errorf("%s goes on at %d, the client has %d: %s", name, *f.Offset, len(units[name]), f.Raw)
			continue
		}
		units[name] = append(slices.Clone(units[name][:*f.Offset]), utf16.Encode([]rune(delta))...)
	}
	texts = map[string]string{}
	for name, text := range units {
		texts[name] = string(utf16.Decode(text))
	}
	return texts, others
}

// delta returns the name of the text that a frame extends, and the added part.
func delta(f programtest.Frame) (name, delta string) {
	payload := f.Decoded()
	return f.Type + " " + programtest.Text(payload, "method") + " " + programtest.Text(payload, "params", "itemId"),
		programtest.Text(payload, "params", "delta")
}

// requireSameTexts: completed items have the same text. Others may be longer on one of two clients.
func requireSameTexts(t *testing.T, client int, got, want []programtest.Frame) {
	t.Helper()
	gotTexts, _ := grown(t, got)
	wantTexts, others := grown(t, want)
	completed := map[string]bool{}
	for _, f := range others {
		if payload := f.Decoded(); programtest.Text(payload, "method") == "item/completed" {
			completed[programtest.Text(payload, "params", "item", "id")] = true
		}
	}
	names := maps.Clone(gotTexts)
	maps.Copy(names, wantTexts)
	for name := range names {
		a, b := gotTexts[name], wantTexts[name]
		open := !completed[name[strings.LastIndexByte(name, ' ')+1:]]
		if a != b && (!open || !strings.HasPrefix(a, b) && !strings.HasPrefix(b, a)) {
			t.Errorf("client %d: %s is %q, want %q", client, name, a, b)
		}
	}
}

// storedDeltas returns the texts of a session's stored deltas, joined by item, and the number of events.
func storedDeltas(s *programtest.Site, session string) (texts map[string]string, events int) {
	s.T.Helper()
	log := journal.New(dbtest.Connect(s.T, s.Store()), journal.Options{})
	texts = map[string]string{}
	for after := int64(0); ; {
		records, err := log.Read(s.T.Context(), journal.Query{After: after, Session: session})
		if err != nil {
			s.T.Fatal(err)
		}
		if len(records) == 0 {
			return texts, events
		}
		for _, r := range records {
			after = r.Pos
			var line struct {
				Method string
				Params struct{ ItemID, Delta string }
			}
			if r.SessionID == session && json.Unmarshal(r.Payload, &line) == nil && line.Method == "item/agentMessage/delta" {
				texts[line.Params.ItemID] += line.Params.Delta
				events++
			}
		}
	}
}
