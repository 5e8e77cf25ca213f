package manager

import (
	"errors"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// The kind of a turn's failure is known, also after a restart; no code parses its text.
func TestAFailedTurnKeepsItsKind(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turns := map[string]error{}
		for word, kind := range map[string]error{`"unauthorized"`: runtime.ErrAuthRequired,
			`"serverOverloaded"`: runtime.ErrTransient, `"other"`: nil} {
			turn := k.send(s.ID)
			turns[turn] = kind
			k.fake.emit(wire.TurnCompleted(s.ID, wire.Turn{ID: turn, Status: runtime.TurnFailed,
				Error: &wire.Failure{Message: "it says: timeout, unauthorized", Kind: []byte(word)}}))
			k.flush()
		}
		for range 2 {
			for turn, kind := range turns {
				state, known, err := k.Turn(t.Context(), s.ID, turn)
				if err != nil || !known || !errors.Is(state.Kind, kind) || kind == nil && state.Kind != nil {
					t.Errorf("turn %s failed with %v (%v), want %v", turn, state.Kind, err, kind)
				}
			}
			k = k.reopen()
		}
	})
}
