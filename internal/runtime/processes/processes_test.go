package processes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"harness/internal/runtime"
)

// All users of a conversation share its process. After an idle time the Set ends it, and the next use resumes the
// conversation in a new one.
func TestIdleProcessesAreClosedAndResumed(t *testing.T) {
	play(t, Options[string]{Idle: time.Minute}, func(t *testing.T, s *script) {
		first, done := s.use("a")
		again, doneAgain := s.use("a")
		if first != "a#1" || again != first {
			t.Errorf("used %s and %s", first, again)
		}
		s.want("start a#1")
		done()
		done() // a second call has no effect
		pass(time.Hour)
		s.want("") // a long turn is not idle time
		doneAgain()
		pass(time.Minute - time.Millisecond)
		_, done = s.use("a") // just before the idle time ends
		done()
		pass(time.Minute - time.Millisecond)
		s.want("")
		pass(time.Millisecond)
		s.want("end a#1")
		s.uses(t.Context(), "a") // during its end
		pass(endTime + startTime)
		s.want("a waits for 0, start a#2, use a#2")
		other, done := s.use("b")
		defer done()
		if list, _ := s.set.List(); len(list) != 2 || list[0].ThreadID != "a" || list[0].Uses != 0 ||
			list[1].Process != other || list[1].State != Running || list[1].Uses != 1 {
			t.Errorf("listed %+v", list)
		}
	})
}

// Without an idle time no process is closed, and without a bound no use waits.
func TestNoBounds(t *testing.T) {
	play(t, Options[string]{}, func(t *testing.T, s *script) {
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			_, done := s.use(id)
			done()
		}
		pass(1000 * time.Hour)
		s.want("start a#1, start b#1, start c#1, start d#1, start e#1")
	})
}

// At the bound an unused process makes room, the longest unused first. When all are in use, the next uses wait in
// order.
func TestWaitingInOrder(t *testing.T) {
	play(t, Options[string]{Max: 2, Idle: time.Hour}, func(t *testing.T, s *script) {
		_, doneA := s.use("a")
		_, doneB := s.use("b")
		s.drainLog()
		for _, id := range []string{"c", "d", "c", "e"} {
			s.uses(t.Context(), id)
			pass(time.Millisecond)
		}
		s.want("c waits for 0, d waits for 1, c waits for 2, e waits for 3")
		if _, waiting := s.set.List(); waiting != 4 {
			t.Errorf("%d wait", waiting)
		}
		if name, done := s.use("a"); name != "a#1" { // it has a process, so it does not wait
			t.Errorf("used %s", name)
		} else {
			done()
		}
		doneB()
		s.want("end b#1")
		pass(endTime + startTime)
		// Both uses of c had their turn in one process. It then makes room for d, and that for e.
		pass(2 * (endTime + startTime))
		got := s.drainLog()
		if want := "start c#1, use c#1, use c#1, end c#1, start d#1, use d#1, end d#1, start e#1, use e#1"; got != want {
			t.Errorf("said %q, want %q", got, want)
		}
		doneA()
		pass(time.Millisecond)
		_, doneE := s.use("e")
		doneE() // used later than a
		s.uses(t.Context(), "f")
		s.want("f waits for 0, end a#1")
	})
}

// A caller that stops waiting gets the reason and the remedy, and no other caller loses its position.
func TestGivingUp(t *testing.T) {
	play(t, Options[string]{Max: 1}, func(t *testing.T, s *script) {
		_, done := s.use("a")
		s.drainLog()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.uses(t.Context(), "b")
		s.uses(short, "c")
		s.uses(t.Context(), "d")
		s.drainLog()
		pass(time.Second)
		said := s.drainLog()
		for _, words := range []string{"c failed", runtime.ErrUnavailable.Error(), "all 1 processes of scripted",
			"1 others waited", "HARNESS_RUNTIME_LIMITS"} {
			if !strings.Contains(said, words) {
				t.Errorf("said %q, without %q", said, words)
			}
		}
		done()
		pass(2 * (endTime + startTime))
		s.want("end a#1, start b#1, use b#1, end b#1, start d#1, use d#1")

		// If the only user of a starting process leaves, the process is available to the next user.
		leaving, leave := context.WithTimeout(t.Context(), endTime+startTime/2)
		defer leave()
		if _, _, err := s.set.Use(leaving, "e"); !errors.Is(err, runtime.ErrUnavailable) ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("left with %v", err)
		}
		if name, done := s.use("e"); name != "e#1" {
			t.Errorf("used %s", name)
		} else {
			done()
		}
	})
}

// All waiting callers get the error of a failed start, and the next waiter gets the slot.
func TestFailedStart(t *testing.T) {
	play(t, Options[string]{Max: 1}, func(t *testing.T, s *script) {
		s.failing(errors.New("no such program"))
		s.uses(t.Context(), "a")
		s.uses(t.Context(), "a")
		s.uses(t.Context(), "b")
		s.drainLog()
		s.failing(nil)
		pass(2 * startTime)
		said := s.drainLog()
		if strings.Count(said, "a failed: no such program") != 2 || strings.Count(said, "start") != 1 ||
			!strings.Contains(said, "use b#1") {
			t.Errorf("said %q", said)
		}
	})
}

// A dead process is released: the next use starts another one, and its slot is free.
func TestProcessDeath(t *testing.T) {
	play(t, Options[string]{Max: 1, Idle: time.Minute}, func(t *testing.T, s *script) {
		_, done := s.use("a")
		s.uses(t.Context(), "b")
		s.drainLog()
		s.dies("a#1")
		pass(startTime)
		s.want("start b#1, use b#1")
		done() // of the dead one
		s.gone["a#1"]()
		name, done := s.use("a")
		if name != "a#2" {
			t.Errorf("used %s", name)
		}
		s.want("a waits for 0, end b#1, start a#2")
		done()
		pass(2 * time.Minute)
		s.want("end a#2")
	})
}

// After the exit of a process is known, no caller gets it; the next one starts after its publication.
func TestDeathWhileItIsPublished(t *testing.T) {
	play(t, Options[string]{Max: 1, Idle: time.Minute}, func(t *testing.T, s *script) {
		_, done := s.use("a")
		done()
		s.drainLog()
		s.set.Leaving("unknown")
		s.set.Leaving("a")
		s.over("a#1")
		if _, kept := s.set.Keep("a"); kept {
			t.Error("a process that has ended is kept")
		}
		s.uses(t.Context(), "a")
		pass(2 * time.Minute)
		s.want("a waits for 0")
		s.gone["a#1"]()
		pass(startTime)
		s.want("start a#2, use a#2")
		s.gone["a#1"]() // a second time
		if name, _ := s.use("a"); name != "a#2" {
			t.Errorf("used %s", name)
		}
	})
}

// A Set continues with a process of an earlier server, even above the bound: it ends none of them while it is in use.
func TestAdopt(t *testing.T) {
	play(t, Options[string]{Max: 1, Idle: time.Minute}, func(t *testing.T, s *script) {
		began := time.Now().Add(-time.Hour)
		doneA, goneA, first := s.set.Adopt("a", "a#old", began)
		doneB, _, second := s.set.Adopt("b", "b#old", began.Add(time.Second))
		_, _, third := s.set.Adopt("b", "b#twice", began)
		s.alive = nil // the Set does not start them, but calls End for them nevertheless
		if !first || !second || third {
			t.Errorf("adopted %t, %t, %t", first, second, third)
		}
		if list, _ := s.set.List(); len(list) != 2 || list[0].Process != "a#old" || !list[0].StartedAt.Equal(began) {
			t.Errorf("listed %+v", list)
		}
		s.uses(t.Context(), "c")
		s.want("c waits for 0")
		doneB()
		s.want("end b#old")
		pass(endTime)
		s.want("") // one is left, which is the bound
		doneA()
		s.want("end a#old")
		goneA() // it ended on request
		pass(endTime + startTime)
		s.want("start c#1, use c#1")
	})
}

// CloseThread frees an unused process, and none in use.
func TestClose(t *testing.T) {
	play(t, Options[string]{}, func(t *testing.T, s *script) {
		if err := s.set.Close(t.Context(), "unknown"); err != nil {
			t.Error(err)
		}
		_, done := s.use("a")
		if err := s.set.Close(t.Context(), "a"); !errors.Is(err, runtime.ErrTurnActive) {
			t.Errorf("closed in use: %v", err)
		}
		done()
		before := time.Now()
		if err := s.set.Close(t.Context(), "a"); err != nil || time.Since(before) != endTime {
			t.Errorf("closed after %s: %v", time.Since(before), err)
		}
		s.want("start a#1, end a#1")
	})
}

// Work that starts by itself keeps an existing process, and starts none.
func TestKeep(t *testing.T) {
	play(t, Options[string]{Idle: time.Minute}, func(t *testing.T, s *script) {
		if _, kept := s.set.Keep("a"); kept {
			t.Error("kept where there is nothing")
		}
		_, done := s.use("a")
		keptUntil, kept := s.set.Keep("a")
		done()
		pass(time.Hour)
		s.want("start a#1")
		if !kept {
			t.Fatal("not kept")
		}
		keptUntil()
		keptUntil() // twice is once
		pass(time.Minute)
		s.want("end a#1")
		if _, kept := s.set.Keep("a"); kept {
			t.Error("kept one that is ending")
		}
		pass(endTime)
	})
}

// A stop ends running and starting processes, and rejects waiting callers.
func TestStop(t *testing.T) {
	play(t, Options[string]{Max: 2}, func(t *testing.T, s *script) {
		s.use("a")
		s.drainLog()
		s.uses(t.Context(), "b")
		s.uses(t.Context(), "c")
		if err := s.set.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		said := s.drainLog()
		for _, words := range []string{"end a#1", "b failed: " + context.Canceled.Error(),
			"c failed: " + runtime.ErrUnavailable.Error()} {
			if !strings.Contains(said, words) {
				t.Errorf("said %q, without %q", said, words)
			}
		}
		if strings.Contains(said, "start c") {
			t.Errorf("said %q", said)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := &script{t: t, starts: map[string]int{}, gone: map[string]func(){}}
		s.set = New(Options[string]{Runtime: "scripted", Start: s.start, End: s.end})
		s.use("a")
		short, cancel := context.WithTimeout(t.Context(), endTime/2)
		defer cancel()
		if err := s.set.Stop(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a stop that takes too long: %v", err)
		}
		if err := s.set.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
