package manager

import (
	"context"
	"testing"
	"time"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// While the store cannot read one session, the server accepts a runtime's signals about others: only the first one
// waits.
func TestReadingASessionDelaysNoOtherSession(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.flush()
		release := occupyReaders(t, k.db)
		taken := make(chan struct{})
		go func() {
			defer close(taken)
			k.fake.notify(ids.New(), "", "thread/status/changed", nil) // about a session that must be searched in the store
		}()
		if !k.othersAreReceived(s) {
			release()
			<-taken
			return
		}
		select {
		case <-taken:
			t.Error("the store could be read: the test shows nothing")
		default:
		}
		release()
		<-taken
	})
}

// After a signal arrives, and before it is processed in order, its session may be evicted. The session may also turn
// out to belong to another runtime. No other session waits for that read either.
func TestReadingASessionAgainDelaysNoOtherSession(t *testing.T) {
	for name, of := range map[string]func(p pair) (about session.Session, drop bool){
		"left out":          func(p pair) (session.Session, bool) { return p.create(), true },
		"another runtime's": func(p pair) (session.Session, bool) { return p.session("theirs"), false },
	} {
		t.Run(name, func(t *testing.T) {
			eachPair(t, func(t *testing.T, p pair) {
				about, drop := of(p)
				own := p.create()
				p.flush()
				var release func()
				between := make(chan struct{})
				said := runtime.Signal{Kind: runtime.SignalNotification, Method: "thread/status/changed", ThreadID: about.ID,
					Raw: encode(map[string]string{"method": "thread/status/changed"})}
				strange := line("", "t", "i", 1)[2] // a request without a session is refused just before the order lock
				batch := runtime.Batch{Signals: []runtime.Signal{said, strange}}
				batch.Refuse = func(context.Context, runtime.Signal) error {
					if drop {
						p.index.Forget(about.ID)
					}
					release = occupyReaders(t, p.db)
					close(between)
					return nil
				}
				taken := make(chan struct{})
				go func() {
					defer close(taken)
					p.fake.emitBatch(batch)
				}()
				<-between
				p.othersAreReceived(own)
				release()
				<-taken
			})
		})
	}
}

// othersAreReceived sends signals about a session until the server has begun to accept an earlier signal. It reports
// whether the server accepts each at once.
func (k *kit) othersAreReceived(about session.Session) bool {
	k.t.Helper()
	others := make(chan struct{}, 1)
	pause := time.Tick(5 * time.Millisecond)
	for range 40 {
		go func() {
			k.fake.notify(about.ID, "", "thread/status/changed", nil)
			others <- struct{}{}
		}()
		select {
		case <-others:
		case <-time.After(10 * time.Second):
			k.t.Error("signals about another session wait for the read")
			return false
		}
		<-pause
	}
	return true
}

// occupyReaders uses all read connections of the store until release is called.
func occupyReaders(t *testing.T, db *database.DB) (release func()) {
	t.Helper()
	done := make(chan struct{})
	var ended []chan error
	for {
		entered, end := make(chan struct{}), make(chan error, 1)
		ended = append(ended, end)
		go func() {
			end <- db.Snapshot(t.Context(), func(database.Querier) error {
				close(entered)
				<-done
				return nil
			})
		}()
		select {
		case <-entered:
			continue
		case <-time.After(500 * time.Millisecond): // no connection is left
		}
		return func() {
			close(done)
			for _, end := range ended {
				if err := <-end; err != nil {
					t.Error(err)
				}
			}
		}
	}
}
