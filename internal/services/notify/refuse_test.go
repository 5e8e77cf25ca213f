package notify_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/services/notify"
	"harness/tests/dbtest"
)

// If the store refuses an outcome, the notifier retries after a pause, and drops the message once the store accepts it.
func TestARefusingStoreIsNotHammered(t *testing.T) {
	t.Parallel()
	k := newKit(t, dbtest.Open(t, database.SQLite))
	k.exec(`create trigger refuse before delete on notify_messages begin select raise(abort, 'refused'); end`)
	var asked atomic.Int64
	k.run(func(o *notify.Options) {
		o.Pause = 50 * time.Millisecond
		o.Waits = func(context.Context, notify.News) (bool, error) {
			asked.Add(1)
			return false, nil
		}
	})
	began := time.Now()
	k.happen(notify.ApprovalWaits, "s", "decided")
	k.eventually("it is tried again", func() bool { return asked.Load() >= 4 })
	if took, most := time.Since(began), time.Since(began)/(50*time.Millisecond)+2; asked.Load() > int64(most) {
		t.Errorf("tried %d times in %s", asked.Load(), took)
	}
	k.exec(`drop trigger refuse`)
	k.drained()
	if len(k.received) > 0 {
		t.Error("sent what was decided")
	}
}
