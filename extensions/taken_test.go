package extensions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"harness/extensions"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/stream"
	"harness/tests/dbtest"
)

// taking returns a record of a session that moved from one node to another.
func taking(session, from, by string) journal.Event {
	payload, _ := json.Marshal(map[string]string{"from": from, "by": by})
	return journal.Event{SessionID: session, Type: "session.taken", Payload: payload}
}

// The new owner of a session dispatches, once, the events that the dead node did not: pending dispatches and records
// before the takeover. If the new owner dies first, the next owner dispatches them. A former node that returns
// dispatches nothing.
func TestANewOwnerDispatchesWhatTheFormerOwnerDidNot(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := newSite(t, db)
		var owner atomic.Pointer[string]
		own := func(node string) { owner.Store(&node) }
		node := func(name string, answer func(string, int) any) (l *listener, stop func()) {
			l = newListener(answer)
			_, _, stop = s.start(l, func(o *extensions.DispatcherOptions) {
				o.NodeID, o.Lanes, o.Retry = name, 1, []time.Duration{time.Hour}
				o.Owns = func(context.Context, string) (bool, error) { return *owner.Load() == name, nil }
				o.Taken = func(event *journal.Event) (from, by string, is bool) {
					var handover struct{ From, By string }
					if event.Type != "session.taken" || json.Unmarshal(event.Payload, &handover) != nil {
						return "", "", false
					}
					return handover.From, handover.By, true
				}
			}, extensions.EventFileChange, extensions.EventTurnCompleted, "app_server.config_warning")
			return l, stop
		}
		own("n1")
		first, stopFirst := node("n1", nil)
		_, stopSecond := node("n2", nil)
		third, _ := node("n3", queued)
		s.fileChange("s1", "t1", "i1", "r1")
		s.turnEnd("s1", "t1")
		first.expect(t, extensions.EventFileChange)
		first.expect(t, extensions.EventTurnCompleted)
		s.waitFor(`select count(*) from extension_dispatches where node_id = 'n1' and attempts = 1 and state = 'pending'`, 2)
		stopFirst()
		s.fileChange("s1", "t2", "i2", "r2") // the node is dead by then
		s.turnEnd("s1", "t2")
		stopSecond()
		own("n2")
		s.append(taking("s1", "n1", "n2")) // this node is dead too, and has dispatched none of it
		s.turnEnd("s1", "t2")
		own("n3")
		s.append(taking("s1", "n2", "n3"))
		var dispatched []string
		for range 4 {
			got := third.next(t)
			dispatched = append(dispatched, got.Type+" "+fmt.Sprint(got.Payload["context"].(map[string]any)["turnId"]))
		}
		slices.Sort(dispatched)
		if want := []string{"file_change.approval_requested t1", "file_change.approval_requested t2", "turn.completed t1",
			"turn.completed t2"}; !slices.Equal(dispatched, want) {
			t.Errorf("the new owner dispatched %q, want %q", dispatched, want)
		}
		s.waitFor(`select count(*) from extension_dispatches where node_id = 'n3' and state = 'done'`, 4)
		back, _ := node("n1", queued)
		for _, name := range []string{"n1", "n3"} {
			s.append(notification("", "", `{"method":"configWarning"}`, stream.Meta{Node: name}))
		}
		back.expect(t, "app_server.config_warning")
		third.expect(t, "app_server.config_warning")
	})
}
