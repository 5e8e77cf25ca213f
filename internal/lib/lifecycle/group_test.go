package lifecycle_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/lifecycle"
	"harness/tests/lifecycletest"
)

// diary records the order of events.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(s string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, s)
}

// part records its start and stop.
func (d *diary) part(name string) lifecycle.Part {
	return lifecycle.Part{
		Name:  name,
		Start: func(context.Context) error { d.add("+" + name); return nil },
		Stop:  func(context.Context) error { d.add("-" + name); return nil },
	}
}

func (d *diary) want(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(d.lines, want) {
		t.Errorf("happened %q, want %q", d.lines, want)
	}
}

func TestStopsInReverseOrderOnce(t *testing.T) {
	t.Parallel()
	var d diary
	g := lifecycle.New(zerolog.Nop(), time.Second, d.part("db"), d.part("hub"), d.part("http"))
	for range 2 {
		if err := g.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := g.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	d.want(t, "+db", "+hub", "+http", "-http", "-hub", "-db")
	if err := g.Start(context.Background()); !errors.Is(err, lifecycle.ErrStopped) {
		t.Errorf("Start after Stop: %v", err)
	}
}

func TestFailedStartStopsWhatWasStarted(t *testing.T) {
	t.Parallel()
	var d diary
	broken := errors.New("port taken")
	bad := lifecycle.Part{Name: "http", Start: func(context.Context) error { return broken },
		Stop: func(context.Context) error { d.add("never"); return nil }}
	g := lifecycle.New(zerolog.Nop(), time.Second, d.part("db"), d.part("hub"), bad, d.part("after"))
	for range 2 {
		if err := g.Start(context.Background()); !errors.Is(err, broken) || !strings.Contains(err.Error(), "start the http") {
			t.Errorf("Start: %v", err)
		}
	}
	if err := g.Stop(); err != nil {
		t.Errorf("Stop: %v", err)
	}
	d.want(t, "+db", "+hub", "-hub", "-db")
}

func TestHangingPartIsAbandonedAtItsBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		var log bytes.Buffer
		release := make(chan struct{})
		hang := lifecycle.Part{Name: "turns", Bound: 3 * time.Second, Stop: func(context.Context) error {
			<-release
			return nil
		}}
		g := lifecycle.New(zerolog.New(&log), 10*time.Second, d.part("db"), hang, d.part("http"))
		if err := g.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		err := g.Stop()
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("took %s, want the bound of 3s", took)
		}
		if !errors.Is(err, lifecycle.ErrAbandoned) || !strings.Contains(err.Error(), "stop turns") {
			t.Errorf("Stop: %v", err)
		}
		d.want(t, "+db", "+http", "-http", "-db")
		for _, want := range []string{`"part":"http"`, `"part":"turns"`, `"bound_ms":3000`, `"ms":3000`, `"part":"db"`} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("no %s in the log:\n%s", want, log.String())
			}
		}
		close(release)
	})
}

func TestTotalBoundHoldsAndLeavesTimeForTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		release := make(chan struct{})
		hang := func(name string) lifecycle.Part {
			return lifecycle.Part{Name: name, Stop: func(context.Context) error { <-release; return nil }}
		}
		db := lifecycle.Part{Name: "db", Stop: func(ctx context.Context) error {
			// A close that takes a short time must get it.
			select {
			case <-time.After(50 * time.Millisecond):
				d.add("-db")
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		g := lifecycle.New(zerolog.Nop(), 2*time.Second, db, hang("a"), hang("b"))
		if err := g.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		err := g.Stop()
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("took %s, more than the total bound", took)
		}
		if text := err.Error(); !strings.Contains(text, "stop a") || !strings.Contains(text, "stop b") ||
			strings.Contains(text, "stop db") {
			t.Errorf("Stop: %v", err)
		}
		d.want(t, "-db")
		close(release)
	})
}

func TestErrorsAndPanicsAreJoined(t *testing.T) {
	t.Parallel()
	one := errors.New("one")
	var d diary
	g := lifecycle.New(zerolog.Nop(), time.Second,
		d.part("db"),
		lifecycle.Part{Name: "a", Stop: func(context.Context) error { return one }},
		lifecycle.Part{Name: "b", Stop: func(context.Context) error { panic("two") }},
		lifecycle.Part{Name: "empty"},
	)
	if err := g.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	err := g.Stop()
	if !errors.Is(err, one) || !strings.Contains(err.Error(), "stop b: panic: two") {
		t.Errorf("Stop: %v", err)
	}
	d.want(t, "+db", "-db")
}

func TestStopEndsAStartUnderWay(t *testing.T) {
	t.Parallel()
	var d diary
	reached := make(chan struct{})
	slow := lifecycle.Part{Name: "runtime", Start: func(ctx context.Context) error {
		close(reached)
		<-ctx.Done()
		return ctx.Err()
	}}
	g := lifecycle.New(zerolog.Nop(), time.Second, d.part("db"), slow)
	started := make(chan error, 1)
	go func() { started <- g.Start(context.Background()) }()
	<-reached
	if err := g.Stop(); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if err := <-started; !errors.Is(err, context.Canceled) {
		t.Errorf("Start: %v", err)
	}
	d.want(t, "+db", "-db")
}

func TestStress(t *testing.T) {
	t.Parallel()
	lifecycletest.Stress(t, func() lifecycletest.Service {
		var d diary
		return lifecycle.New(zerolog.Nop(), time.Second, d.part("a"), d.part("b"))
	})
}
