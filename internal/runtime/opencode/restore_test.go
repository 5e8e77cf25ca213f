package opencode_test

import (
	"fmt"
	"testing"

	"harness/tests/runtimetest"
)

// SE-02: a conversation that OpenCode has deleted continues in a new one, which gets the earlier messages.
func TestLostConversationIsRestarted(t *testing.T) {
	t.Parallel()
	store := runtimetest.NewStore()
	s := newSite(t, store.Sink, store.Resume)
	o := s.start()
	agent := &runtimetest.Agent{Adapter: o, Dir: s.dir}
	runtimetest.Restores(t, store, agent, func(text string) string { return fmt.Sprintf("MOCK_REPLY[%s]", text) },
		func(native string) {
			t.Helper()
			if _, err := o.DeleteThread(t.Context(), native); err != nil {
				t.Fatal(err)
			}
		}, s.model.Asked)
}
