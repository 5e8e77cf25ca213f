package acp

import (
	"encoding/json"
	"testing"

	"harness/internal/runtime/wire"
	"harness/tests/runtimetest"
)

// maxState is the maximum size of the state of one turn, for any output of an agent. It follows from the bounds; JSON
// writes some characters with six.
const maxState = 6 * (maxText + 2*maxDiff + maxTools*(2*maxValue+maxOutput+2*maxDiff+4*maxText))

// For any output between two good lines, the translator does not fail. Its state stays bounded and valid, and the
// turn ends once.
func FuzzTranslator(f *testing.F) {
	for _, profile := range Shipped() {
		for _, recording := range recordings(f, profile.Name) {
			for _, r := range recording {
				if r.Out != nil {
					f.Add([]byte(r.Out), []byte(recording[len(recording)-1].Out))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		for _, profile := range Shipped() {
			tr := heir{translator: translator{profile: &profile, threads: map[string]string{"s": "thread"}}}
			signals := tr.begin("s", conversation{Thread: "thread", Turn: "t"}, userItem{Type: wire.ItemUserMessage, ID: "t:user"}, 1)
			for _, raw := range [][]byte{first, second, first} {
				var l line
				if json.Unmarshal(raw, &l) != nil {
					continue
				}
				var p map[string]json.RawMessage
				if json.Unmarshal(l.Params, &p) == nil && p["sessionId"] != nil {
					p["sessionId"] = json.RawMessage(`"s"`)
					l.Params, _ = json.Marshal(p) // it was just parsed
				}
				if l.Method == "" {
					continue // an answer of another turn
				}
				signals = append(signals, tr.feed(&l, 2, 2)...)
				tr.noteAnswer(l.ID, actionDecline)
				tr.resume()
				if raw := tr.stored; len(raw) > maxState || !json.Valid(raw) {
					t.Fatalf("the state takes %d bytes: %.200s", len(raw), raw)
				}
			}
			more, _ := tr.said(&line{ID: json.RawMessage(`"turn:t"`), Result: json.RawMessage(`{"stopReason":"end_turn"}`)}, 3)
			runtimetest.CheckRules(t, runtimetest.Rules{Tidy: true}, append(signals, more...), false)
			if len(tr.state.Conversations) != 0 {
				t.Error("a turn is left")
			}
		}
	})
}
