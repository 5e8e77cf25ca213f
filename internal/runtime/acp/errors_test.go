package acp

import (
	"errors"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/acp/words"
)

// A conversation that is open in another program is refused as an invalid state, with the agent's own remedy.
func TestAConversationOpenElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	profile := CodexBridge()
	err := (&refusal{Code: -32600, Message: "This Codex session is in use. Close the session there.",
		Data: []byte(`{"reason":"thread_active_writer","threadId":"t"}`)}).error(&profile, words.Load)
	if !errors.Is(err, runtime.ErrInvalidState) || !openElsewhere(err) {
		t.Errorf("it is %v", err)
	}
}
