package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// Only a request for the console's view gets the view's members, null where there is no value.
func TestConsoleViewOfSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const path = "/api/sessions/01a1fbb7-e748-7863-a3f3-39c361908c54"
	if got := b.send(http.MethodGet, path+"?view=console", "", "").Body.String(); !strings.Contains(got,
		`"titleSource":"auto","plan":{"plan":[]},"usage":null,"line":null,"lastEntryAt":5,"readTo":null,"unread":false}`) {
		t.Errorf("with the view: %s", got)
	}
	if got := b.send(http.MethodGet, path, "", "").Body.String(); strings.Contains(got, "lastEntryAt") {
		t.Errorf("without: %s", got)
	}
	if got := b.send(http.MethodGet, "/api/sessions?sort=title", "", ""); got.Code != http.StatusBadRequest {
		t.Errorf("an unknown order: %d %s", got.Code, got.Body)
	}
}
