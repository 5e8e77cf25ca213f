package extensions_test

import (
	"testing"
	"time"

	"harness/extensions"
	"harness/extensions/sdk"
	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// EX-32, EX-33, EX-43, EX-44: a suggestion's event and the job that its route returns.
func TestSuggest_EX33_EX43_EX44(t *testing.T) {
	t.Parallel()
	l := newListener(queued)
	r := registry(t, extensions.Options{Native: []sdk.Extension{l.extension(extensions.EventSuggestRequest)}})
	in := extensions.SuggestRequest{RequestKey: "k", SessionID: "s1", ProjectID: "session:s1",
		ThreadID: "s1", TurnID: "t", UserRequest: "u", TurnTranscript: "x", Draft: "d"}
	if _, _, err := r.Suggest(t.Context(),
		in); err != extensions.ErrNoJob { //nolint:errorlint // the sentinel itself is returned
		t.Errorf("without extensions: %v", err)
	}
	r.Load(t.Context())
	job, _, err := r.Suggest(t.Context(), in)
	if err != nil || job.Job.ID != "j" {
		t.Errorf("got %+v, %v", job, err)
	}
	want := `{"requestKey":"k","sessionId":"s1","projectId":"session:s1","threadId":"s1","turnId":"t",` +
		`"userRequest":"u","turnTranscript":"x","draft":"d"}`
	if got := l.next(t).raw; got != want {
		t.Errorf("got %s", got)
	}
}

// A slow handler of one retried event does not delay the others, neither at startup nor later.
func TestRetriesRunSideBySide(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s, idle := newSite(t, db), newListener(nil)
		_, _, stop := s.start(idle, func(o *extensions.DispatcherOptions) { o.Retry = []time.Duration{time.Hour, time.Hour} },
			extensions.EventTurnCompleted)
		for _, turn := range []string{"t1", "t2"} {
			s.fileChange("s1", turn, "i", "r-"+turn)
			s.turnEnd("s1", turn)
			idle.expect(t, extensions.EventTurnCompleted)
		}
		s.waitFor(`select count(*) from extension_dispatches where kind = 'turn.completed' and attempts = 1`, 2)
		stop()
		met := []chan struct{}{make(chan struct{}), make(chan struct{})}
		l := newListener(func(_ string, nth int) any {
			if nth > 2*len(met) {
				return nil
			}
			both := met[(nth-1)/2]
			if nth%2 == 0 {
				close(both)
			}
			select {
			case <-both:
			case <-time.After(10 * time.Second):
				t.Errorf("the other one is not dispatched beside this one (%d)", nth)
			}
			return nil
		})
		s.start(l, func(o *extensions.DispatcherOptions) {
			o.Retry = []time.Duration{time.Hour, time.Millisecond, time.Millisecond}
		}, extensions.EventTurnCompleted)
		for range 2 * len(met) {
			l.expect(t, extensions.EventTurnCompleted)
		}
	})
}
