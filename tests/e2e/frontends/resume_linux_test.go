package frontends

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// resumesALongSession checks that the TUI resumes a session of 500 entries, and shows the newest ones, each once.
func (b *bench) resumesALongSession(t *testing.T, runtime string) {
	t.Helper()
	session := b.CreateSession(programtest.Object{"runtime": runtime, "filesystemSandbox": "danger-full-access",
		"networkAccess": "enabled"})
	for n := range 500 {
		role, kind := "user", "userMessage"
		if n%2 == 1 {
			role, kind = "assistant", "agentMessage"
		}
		b.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/transcript/upsert", programtest.Object{
			"messageId": fmt.Sprintf("m-%d", n), "turnId": fmt.Sprintf("t-%d", n/2), "role": role, "type": kind,
			"content": fmt.Sprintf("entry %03d of %s", n, runtime), "status": "complete"})
	}
	u := b.open(t, "resume", session)
	screen := u.await("entry 499 of " + runtime)
	for n := 490; n < 500; n++ {
		if text := fmt.Sprintf("entry %03d of %s", n, runtime); strings.Count(screen, text) != 1 {
			t.Errorf("%s is shown %d times:\n%s", text, strings.Count(screen, text), screen)
		}
	}
	u.end()
}
