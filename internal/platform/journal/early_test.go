package journal_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/polling"
)

// twoWriters are two processes that write to one store with a synchronous standby, each through a separate proxy.
type twoWriters struct {
	t    *testing.T
	pair *dbtest.Pair
	db   *database.DB // the test's own connection, to the first primary
	ways [2]*dbtest.Proxy
	logs [2]*journal.Journal
	mu   sync.Mutex
	seen [2][]string // the events that subscribers of each process got
	done chan error
}

// newTwoWriters writes one event from each process, and disables their polling.
func newTwoWriters(t *testing.T, opts journal.Options) *twoWriters {
	t.Helper()
	c := &twoWriters{t: t, done: make(chan error, 8)}
	c.pair, c.db = replicated(t)
	opts.Barrier, opts.EarlyRelease = true, func() bool { return true }
	for i := range c.logs {
		c.ways[i] = dbtest.NewProxy(t, c.pair.URL(c.pair.Primary()))
		c.logs[i] = start(t, dbtest.Connect(t, database.Options{URL: c.ways[i].URL}), opts)
		c.logs[i].Subscribe(func(records []journal.Record) {
			c.mu.Lock()
			defer c.mu.Unlock()
			for j := range records {
				c.seen[i] = append(c.seen[i], records[j].Type)
			}
		})
		c.write(i, "before")
		if err := <-c.done; err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// write starts to store an event.
func (c *twoWriters) write(by int, what string) {
	go func() {
		_, err := c.logs[by].Append(c.t.Context(), journal.Event{SessionID: "s", Type: what})
		c.done <- err
	}()
}

func (c *twoWriters) eventually(what string, is func() bool) {
	c.t.Helper()
	if !polling.Until(time.Minute, is) {
		c.t.Fatalf("never: %s", what)
	}
}

// stored waits until the store has a number of events.
func (c *twoWriters) stored(n int) {
	c.t.Helper()
	c.eventually("are the events stored", func() bool { return ask(c.t, c.db, `select count(*) from journal_events`) >= n })
}

// checkDurable fails when a subscriber got an event that the standby does not have.
func (c *twoWriters) checkDurable() {
	c.t.Helper()
	select {
	case err := <-c.done:
		c.t.Errorf("a write ended before the standby had it: %v", err)
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, seen := range c.seen {
		if slices.Contains(seen, "first") || slices.Contains(seen, "second") {
			c.t.Errorf("subscribers of process %d were handed %q", i, seen)
		}
	}
}

// finished waits for both writes, and checks that each is stored once and that both processes published the same
// events.
func (c *twoWriters) finished() {
	c.t.Helper()
	for range 2 {
		if err := <-c.done; err != nil {
			c.t.Error(err)
		}
	}
	records := readAll(c.t, c.logs[1])
	requireGapFree(c.t, records)
	var types []string
	for i := range records {
		types = append(types, records[i].Type)
	}
	slices.Sort(types)
	if !slices.Equal(types, []string{"before", "before", "first", "second"}) {
		c.t.Errorf("stored are %q", types)
	}
	for i := range c.logs {
		c.eventually("has every process all events", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.seen[i]) == len(records)-i // the second one started after one of them
		})
	}
}

// Where several processes write, none waits for another's standby, and no subscriber gets an event that the standby
// lacks. Whatever fails in between, each event is stored once, in one order for all.
func TestHeadIsReleasedBeforeStandbyHasBatch(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(c *twoWriters){
		"nothing is lost": func(c *twoWriters) { c.pair.Rejoin() },
		"the connection between both commits": func(c *twoWriters) {
			c.ways[0].Cut()
			c.ways[0].Mend()
			c.pair.Rejoin()
		},
		"all connections": func(c *twoWriters) {
			for _, way := range c.ways {
				way.Cut()
				way.Mend()
			}
			c.pair.Rejoin()
		},
		"the server": func(c *twoWriters) {
			lost := c.pair.Primary()
			c.pair.Promote()
			for _, way := range c.ways {
				if err := way.Lead(c.pair.URL(c.pair.Primary())); err != nil {
					c.t.Fatal(err)
				}
			}
			c.pair.Kill(lost)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTwoWriters(t, journal.Options{PollInterval: 50 * time.Millisecond})
			c.pair.Isolate()
			c.write(0, "first")
			c.stored(3)
			c.write(1, "second")
			c.stored(4)
			c.eventually("do both wait for the standby", func() bool { return waits(t, c.db) >= 2 })
			c.checkDurable()
			lose(c)
			c.finished()
		})
	}
}

// A process that writes alone keeps the head until the standby has its batch: an early release would gain nothing.
func TestALoneWriterKeepsTheHead(t *testing.T) {
	t.Parallel()
	c := newTwoWriters(t, journal.Options{PollInterval: time.Hour})
	c.write(1, "its own")
	if err := <-c.done; err != nil {
		t.Fatal(err)
	}
	c.pair.Isolate()
	c.write(1, "first")
	c.eventually("does it wait for the standby", func() bool { return waits(t, c.db) == 1 })
	if n := ask(t, c.db, `select count(*) from journal_events`); n != 3 {
		t.Errorf("%d events are visible, want 3", n)
	}
	c.write(0, "second")
	c.eventually("does the other one wait for the head", func() bool {
		return ask(t, c.db, `select count(*) from pg_stat_activity where wait_event_type = 'Lock'`) == 1
	})
	c.pair.Rejoin()
	for range 2 {
		if err := <-c.done; err != nil {
			t.Error(err)
		}
	}
	requireGapFree(t, readAll(t, c.logs[0]))
}

// A process that ends between both commits has published no event of its batch. The events of it that the standby gets
// count once, for all other processes, too.
func TestAProcessEndsBetweenBothCommits(t *testing.T) {
	t.Parallel()
	c := newTwoWriters(t, journal.Options{PollInterval: 50 * time.Millisecond})
	c.pair.Isolate()
	c.write(0, "first")
	c.stored(3)
	c.eventually("does it wait for the standby", func() bool { return waits(t, c.db) >= 1 })
	c.checkDurable()
	c.ways[0].Cut() // permanently, as the system does for a killed process
	c.write(1, "second")
	c.stored(4)
	c.checkDurable()
	c.pair.Rejoin()
	if err := <-c.done; err != nil {
		t.Error(err)
	}
	records := readAll(t, c.logs[1])
	requireGapFree(t, records)
	if len(records) != 4 || records[2].Type != "first" || records[3].Type != "second" {
		t.Errorf("stored are %+v", records)
	}
	c.eventually("is it published to the other one's subscribers", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.Equal(c.seen[1][len(c.seen[1])-2:], []string{"first", "second"})
	})
	c.ways[0].Mend()
	if err := <-c.done; err != nil {
		t.Error(err) // a running process would have resolved it
	}
}
