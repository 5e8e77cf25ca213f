package runtimetest

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"harness/internal/runtime"
)

const (
	// aheadDeltas is more than an adapter may read ahead. leastDeltas is enough for a flood beyond that.
	aheadDeltas, leastDeltas = 6_000, 10_000
	// lull is how long the reader of a flood pauses.
	lull = 200 * time.Millisecond
)

var numbers = regexp.MustCompile(`\d+`)

// flooded: the adapter reads ahead within bounds when an agent writes faster than the sink reads; all lines arrive,
// in order.
func flooded(t *testing.T, s *scene) {
	if s.Script.Flood == nil {
		t.Log("its model cannot be made to say much")
		return
	}
	thread, deltas := s.open(), floodDeltas
	if s.Old || s.Dear {
		deltas = leastDeltas // it sends each of them three times, or needs much time for each
	}
	reached, resume := s.stallAt(func(batch runtime.Batch) bool {
		return len(batch.Signals) > 0 && grows(batch.Signals[len(batch.Signals)-1])
	})
	type begun struct {
		runtime.StartedTurn
		error
	}
	begins := make(chan begun, 1)
	go func() { // the answer may be behind lines that the store does not accept yet
		started, err := s.StartTurn(t.Context(), runtime.StartTurn{ThreadID: thread, Input: Text(s.Script.Flood(deltas))})
		begins <- begun{started, err}
	}()
	<-reached
	<-time.After(lull)
	resumed := time.Now()
	resume()
	began := <-begins
	if began.error != nil {
		t.Fatal(began.error)
	}
	if end := s.End(t, began.TurnID); end.Status != runtime.TurnDone {
		t.Errorf("the turn ended %+v", end)
	}
	ahead := 0
	for _, signal := range s.Signals() {
		if grows(signal) && signal.ReceivedAt.Before(resumed) {
			ahead++
		}
	}
	if t.Logf("%d pieces were read while the store accepted none", ahead); ahead > aheadDeltas {
		t.Errorf("%d of %d pieces were read while the store accepted none", ahead, deltas)
	}
	said := numbers.FindAllString(s.said(began.TurnID), -1)
	for i, number := range said {
		if number != strconv.Itoa(i) {
			t.Fatalf("it said %s instead of %d", number, i)
		}
	}
	if len(said) != deltas {
		t.Errorf("it said %d numbers", len(said))
	}
}

// longLine: a line of 64 MiB arrives unchanged.
func longLine(t *testing.T, s *scene, proxy *Proxy) {
	turn := s.held(s.open(), "swollen")
	s.wait(t, "the first word", grows)
	proxy.Swell(t, "swollen", longBytes)
	s.Release("swollen")
	if end := s.End(t, turn); end.Status != runtime.TurnDone {
		t.Errorf("the turn ended %+v", end)
	}
	if said := s.said(turn); strings.Count(said, "w") < longBytes {
		t.Errorf("it said %d bytes: %.100q", len(said), said)
	}
}

// halfLine: the adapter drops an unfinished line of a dead agent, and the conversation continues in another process.
func halfLine(t *testing.T, s *scene, proxy *Proxy) {
	thread := s.open()
	s.End(t, s.say(thread, s.Script.Reply("remember"))) // some agents cannot resume before their first turn
	turn := s.held(thread, "half")
	proxy.Cut(t)
	s.Release("half")
	gone := s.wait(t, "the end of the process", func(signal runtime.Signal) bool {
		return signal.Kind == runtime.SignalExited
	})
	half := proxy.Wrote(t)
	if len(half) == 0 {
		t.Fatal("nothing was cut")
	}
	for _, batch := range s.all() {
		for _, signal := range batch.Signals {
			if bytes.Equal(batch.Native, half) || bytes.Equal(signal.Raw, half) {
				t.Errorf("half a line was published: %.300s", half)
			}
			if endOf(turn)(signal) && signal.Change.(runtime.TurnCompleted).Status != runtime.TurnInterrupted {
				t.Errorf("the turn of half a line ended: %.300s", signal.Raw)
			}
		}
	}
	if end := s.End(t, s.say(thread, s.Script.Reply("back"))); end.Status != runtime.TurnDone {
		t.Errorf("the turn after it ended %+v", end)
	}
	if started := s.Generations(); started[len(started)-1] == gone.Generation {
		t.Error("it went on in the process that is gone")
	}
}

// repeats: if a server dies before it stores lines that it read, the next server gets them again, unchanged and with
// the same ids.
func repeats(t *testing.T, s *scene) {
	if !s.Capabilities().SurvivesRestart {
		return // it repeats nothing
	}
	thread := s.open()
	turn := s.held(thread, "r")
	s.wait(t, "the first word", grows)
	s.lose()
	s.Release("r")
	s.waitLost(t, "the end of the turn", endOf(turn))
	s.Leave(t)
	lost, stored := s.recover()
	s.Agent = s.Next(t)
	if end := s.End(t, turn); end.Status != runtime.TurnDone {
		t.Errorf("the turn ended %+v", end)
	}
	again := s.since(t, stored, len(lost)) // some may come after the turn's end
	for i := range lost {
		if was, is := outline(lost[i]), outline(again[i]); was != is {
			t.Errorf("line %d is repeated as\n%s\nand was\n%s", i, is, was)
		}
	}
}

// outline returns the part of a line that must be the same each time it is read.
func outline(batch runtime.Batch) string {
	out := &strings.Builder{}
	fmt.Fprintf(out, "%s to %d: %s", batch.Generation, batch.Offset, batch.Native)
	for _, signal := range batch.Signals {
		fmt.Fprintf(out, "\n%s %s %s %s %s %s", signal.Kind, signal.Method, signal.ThreadID, signal.TurnID, signal.ItemID,
			signal.RequestID)
		if batch.Native == nil {
			fmt.Fprintf(out, " %s", signal.Raw)
		}
	}
	return out.String()
}
