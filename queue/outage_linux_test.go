package queue_test

import (
	"path/filepath"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/migrations"
	"harness/queue"
	"harness/tests/dbtest"
	"harness/tests/disktest"
)

// A job that runs while SQLite refuses writes for longer than a lease continues as the same attempt. Its end is stored
// once there is space.
func TestAJobOutlivesAFullDisk(t *testing.T) {
	t.Parallel()
	disk := disktest.New(t, "4m")
	db := dbtest.Connect(t, database.Options{Path: filepath.Join(disk.Path, "harness.db")})
	if _, err := migrations.Up(t.Context(), db, filepath.Join(t.TempDir(), "migrate.lock")); err != nil {
		t.Fatal(err)
	}
	s := newStore(t, db)
	const lease = 300 * time.Millisecond
	g := newGate()
	q := s.start("n", []queue.Definition{{Type: "work", Run: g.run}}, func(o *queue.Options) { o.Lease = lease })
	job := enqueue(t, q, queue.Request{Type: "work"}).Job
	g.waitBegun(t)
	disk.Fill()
	full := time.After(patience)
	for s.journal.Outage() == nil {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-full:
			t.Fatal("the store never refused")
		}
	}
	<-time.After(3 * lease) // this test depends on real time
	disk.Free()
	if err := s.journal.AwaitWrites(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(g.open)
	if ended := waitFinal(t, q, job.ID); ended.State != queue.Completed || ended.Attempts != 1 {
		t.Errorf("ended as %+v", ended)
	}
}
