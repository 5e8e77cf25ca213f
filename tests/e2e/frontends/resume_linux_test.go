package frontends

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"harness/tests/polling"
	"harness/tests/programtest"
)

// resumesALongSession checks that the TUI resumes a session of 500 entries, shows the newest ones, and pages back to the
// first: each entry once, in order.
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
	u.pagesBack(500)
	u.end()
}

// pagesBack scrolls from the newest entry to the first one. The history comes in pages, so the edge of each page is inside
// a screen.
func (u *tui) pagesBack(entries int) {
	u.t.Helper()
	if out, err := u.tmux("resize-window", "-x", "110", "-y", "400"); err != nil {
		u.t.Fatalf("resize the terminal: %v\n%s", err, out)
	}
	seen := map[int]bool{}
	for range 60 { // a screen has more than a hundred entries; a key is lost while a page loads
		var shown []int
		polling.Until(programtest.Patience, func() bool { shown = u.numbers(); return len(shown) > 0 }) // it draws anew
		for i, n := range shown {
			if seen[n] = true; i > 0 && n != shown[i-1]+1 {
				u.t.Errorf("entry %d is shown below entry %d", n, shown[i-1])
			}
		}
		if seen[0] {
			break
		}
		u.press("PageUp")
		polling.Until(3*time.Second, func() bool { now := u.numbers(); return len(now) > 0 && !slices.Equal(now, shown) })
	}
	if len(seen) != entries {
		u.t.Errorf("the TUI showed %d of %d entries; the last screen is\n%s", len(seen), entries, u.screen())
	}
}

// numbers returns the numbers of the entries that the screen shows, from the top.
func (u *tui) numbers() (shown []int) {
	for _, match := range regexp.MustCompile(`entry (\d{3}) of`).FindAllStringSubmatch(u.screen(), -1) {
		n, _ := strconv.Atoi(match[1]) // digits
		shown = append(shown, n)
	}
	return shown
}
