package appserver_test

import (
	"strings"
	"testing"

	"harness/internal/services/session"
)

// MC-13: The sessions below a session are listed for the front end's tree, and not as those of another session.
func TestDescendantsAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c := b.dial("alice")
	root, other := c.start(), c.start()
	child, err := b.Service.Create(t.Context(), session.Create{Child: &session.Lineage{ParentID: root, RootID: root, Depth: 1, Key: "k"}})
	if err != nil {
		t.Fatal(err)
	}
	list := func(ancestor string) string {
		return string(c.call("thread/list", `{"sourceKinds":["subAgentThreadSpawn"],"ancestorThreadId":"`+ancestor+`"}`))
	}
	if got := list(root); !strings.Contains(got, child.ID) {
		t.Errorf("below the session are %s", got)
	}
	if got := list(other); strings.Contains(got, child.ID) {
		t.Errorf("below another session are %s", got)
	}
}
