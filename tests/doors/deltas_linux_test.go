package doors

import (
	"bytes"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The allowed cost of deltas.
const (
	deltaRatio   = 1.5 // times what a reader of the stream costs
	deltaReaders = 30
	deltas       = 3000
)

// FE-95: deltas cost a socket of a front end at most 1.5 times what they cost a reader of the stream, in CPU time of server
// and client. The machine is shared: the best of several rounds counts.
func TestDeltasCostFrontEndsWhatTheStreamCosts(t *testing.T) {
	s := open(t)
	follow := func(dial func(string) *socket, method string) func(session string) *socket {
		return func(session string) *socket {
			c := dial("a")
			s.call(c, method, `{"sessionId":"`+session+`","threadId":"`+session+`","cwd":"/","excludeTurns":true}`)
			return c
		}
	}
	tui := follow(s.tui, "thread/resume")
	doors := map[string]func(session string) *socket{
		"app-server": func(session string) *socket {
			c := tui(session)
			s.call(c, "thread/items/list", `{"threadId":"`+session+`","limit":100,"sortDirection":"desc"}`)
			return c
		},
		"acp": follow(s.editor, "session/resume"),
	}
	best := map[string]float64{}
	for range 5 {
		stream := s.costOf(func(session string) *socket { return s.dial("a", "/api/stream?threadId="+session) })
		for name, door := range doors {
			ratio := float64(s.costOf(door)) / float64(stream)
			if was, measured := best[name]; !measured || ratio < was {
				best[name] = ratio
			}
		}
		t.Logf("times a reader of the stream: %v", best)
		if best["app-server"] <= deltaRatio && best["acp"] <= deltaRatio {
			return
		}
	}
	t.Errorf("a delta costs %v times what it costs a reader of the stream, want %v", best, deltaRatio)
}

// costOf returns the CPU time of this process while readers get a text in many deltas.
func (s *site) costOf(dial func(session string) *socket) time.Duration {
	s.t.Helper()
	session := s.NewSession()
	readers := make([]*socket, deltaReaders)
	for n := range readers {
		readers[n] = dial(session)
	}
	last := fmt.Appendf(nil, "%d ", deltas-1)
	began := cpuTime(s.t)
	var reading sync.WaitGroup
	for _, one := range readers {
		reading.Go(func() {
			for {
				_, text, err := one.conn.Read(s.t.Context())
				if err != nil {
					s.t.Error(err)
				}
				if err != nil || bytes.Contains(text, last) {
					return
				}
			}
		})
	}
	s.Ended(session, s.Say(session, fmt.Sprintf("FLOOD[%d]", deltas)))
	reading.Wait()
	cost := cpuTime(s.t) - began
	for _, one := range readers {
		_ = one.conn.CloseNow()
	}
	return cost
}

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
