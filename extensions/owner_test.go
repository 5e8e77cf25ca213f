package extensions_test

import (
	"context"
	"testing"

	"harness/extensions"
	"harness/internal/platform/database"
	"harness/stream"
	"harness/tests/dbtest"
)

// Of several nodes one dispatches: the owner of a session, for its signals and the events synthesised from them. The
// node whose runtime emitted an event without a session dispatches that event. All nodes dispatch an event without a
// node's name.
func TestOneNodeDispatches(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s, l := newSite(t, db), newListener(queued)
		s.start(l, func(o *extensions.DispatcherOptions) {
			o.Lanes = 1
			o.Owns = func(_ context.Context, session string) (bool, error) { return session == "s1", nil }
		}, "app_server.config_warning", extensions.EventFileChange, extensions.EventTurnCompleted, marker)
		for _, session := range []string{"s2", "s1"} { // the first belongs to another node
			s.fileChange(session, "t-"+session, "i", "r-"+session)
			s.turnEnd(session, "t-"+session)
			s.mark(session)
		}
		for _, node := range []string{"n2", "n1", ""} {
			s.append(notification("", "", `{"method":"configWarning"}`, stream.Meta{Node: node}))
		}
		s.mark("s1")
		if got := l.expect(t, extensions.EventFileChange); got.Payload["threadId"] == "s2" {
			t.Errorf("another node's: %s", got.raw)
		}
		for _, want := range []string{extensions.EventTurnCompleted, marker, "app_server.config_warning",
			"app_server.config_warning", marker} {
			l.expect(t, want)
		}
	})
}
