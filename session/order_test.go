package session

import (
	"testing"
	"time"

	"harness/database"
)

// While what is stored of one session cannot be read, a runtime's words about others are taken in: only the first one
// waits.
func TestReadingASessionHoldsUpNobodyElse(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.flush()
		release := occupyReaders(t, k.db)
		taken := make(chan struct{})
		go func() {
			defer close(taken)
			k.fake.notify(newID(), "", "thread/status/changed", nil) // of a session that has to be looked for in the store
		}()
		others := make(chan struct{}, 1)
		pause := time.NewTicker(5 * time.Millisecond)
		defer pause.Stop()
		for range 40 { // the first one has begun to look by then
			go func() {
				k.fake.notify(s.ID, "", "thread/status/changed", nil)
				others <- struct{}{}
			}()
			select {
			case <-others:
			case <-time.After(10 * time.Second):
				t.Error("words about another session wait for the read")
				release()
				<-taken
				return
			}
			<-pause.C
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

// occupyReaders has the store's connections for reading all in use until release is called.
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
		case <-time.After(500 * time.Millisecond): // none is left
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
