package manager

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"harness/internal/services/session"
	"harness/transcript"
)

// pieces collects a full read.
type pieces struct {
	entries []string
	most    int // it fails beyond this number
}

var errEnough = errors.New("enough")

func (p *pieces) Entries(encoded []byte) error {
	if len(p.entries) == p.most {
		return errEnough
	}
	p.entries = append(p.entries, string(encoded))
	return nil
}

func (p *pieces) Item(int, []byte) error { return nil }

// A full read in chunks equals one in memory, at the same position, in the same version and page by page. That
// includes entries written during the read, and reads after a rollback.
func TestAWholeReadInPieces(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.live(s.ID, 5)
		long := strings.Repeat("a long <text>,\u2028 ", 4<<10)
		var entries []transcript.Entry
		for i := range 300 {
			entry := transcript.Entry{MessageID: fmt.Sprint("e", i), TurnID: fmt.Sprint("turn", i/7), Role: "user", Type: "note",
				Content: "short", Status: transcript.Streaming}
			if i%10 == 0 {
				entry.Content = long
			}
			entries = append(entries, entry)
		}
		_, err := k.UpsertTranscripts(t.Context(), s.ID, entries)
		k.do(err)
		check := func() {
			t.Helper()
			got := &pieces{most: 1000}
			whole, inPieces := k.read(s.ID, session.Reading{}), k.read(s.ID, session.Reading{Chunks: got})
			if inPieces.Version != whole.Version || inPieces.Pos != whole.Pos || len(inPieces.Transcript) != 0 {
				t.Errorf("version %s at %d with %d entries, in memory %s at %d", inPieces.Version, inPieces.Pos,
					len(inPieces.Transcript), whole.Version, whole.Pos)
			}
			var read []transcript.Entry
			k.do(json.Unmarshal([]byte("["+strings.Join(got.entries, ",")+"]"), &read))
			if a, b := string(encode(read)), string(encode(whole.Transcript)); a != b || len(got.entries) < 3 {
				t.Errorf("%d pieces show %d bytes, memory %d", len(got.entries), len(a), len(b))
			}
		}
		check()
		k.do(k.UpsertTranscript(t.Context(), s.ID, transcript.Entry{MessageID: "e30", TurnID: "turn4", Role: "user", Type: "note",
			Content: "now short", Status: transcript.Complete}))
		check()
		if _, err := k.Read(t.Context(), s.ID, session.Reading{Chunks: &pieces{most: 1}}); !errors.Is(err, errEnough) {
			t.Errorf("who takes the pieces ends the read with %v", err)
		}
	})
}
