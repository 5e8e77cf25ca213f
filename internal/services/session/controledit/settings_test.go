package controledit

import (
	"encoding/json"
	"maps"
	"strconv"
	"testing"

	"harness/internal/services/session"
)

// Settings that exceeded the limit before it existed may still shrink, and must not grow.
func TestSettingsOverTheBoundOnlyShrink(t *testing.T) {
	t.Parallel()
	over := map[string]json.RawMessage{}
	for i := range 2 * session.MaxSettings {
		over["k"+strconv.Itoa(i)] = json.RawMessage(`1`)
	}
	less := maps.Clone(over)
	delete(less, "k1")
	if err := checkSettings(over, less); err != nil {
		t.Errorf("fewer than before: %v", err)
	}
	if err := checkSettings(less, over); err == nil {
		t.Error("more than before, which was too many, was taken")
	}
}
