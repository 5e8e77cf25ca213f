package runtimetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// Patience bounds every wait, also for the start of an agent; only a fault uses it up. On a busy machine agents start
// in half a minute and more, and a line of 64 MiB needs seconds on an idle one.
const Patience = 3 * time.Minute

// Store accepts an adapter's batches in place of the sessions. It stores the read offset of each process and the
// translator's state, and passes both to the adapter of the next server.
type Store struct {
	mu       sync.Mutex
	changed  chan struct{}
	batches  []runtime.Batch
	signals  []runtime.Signal // of the batches
	progress map[string]progress
	faults   []string
	// stalled, when set, makes the store wait at a matching batch until resumed is closed; reached is closed at that
	// batch.
	stalled          func(runtime.Batch) bool
	reached, resumed chan struct{}
	// losing means that the store drops new batches, lost are the dropped ones.
	losing      bool
	lost        []runtime.Batch
	lostSignals []runtime.Signal // of lost
}

type progress struct {
	offset int64
	state  json.RawMessage
}

// NewStore makes an empty Store.
func NewStore() *Store { return &Store{changed: make(chan struct{}), progress: map[string]progress{}} }

// Sink is the runtime.Sink of the adapter under test.
func (s *Store) Sink(batch runtime.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stalled != nil && s.stalled(batch) {
		s.stalled = nil
		close(s.reached)
		s.mu.Unlock()
		<-s.resumed
		s.mu.Lock()
	}
	defer func() {
		close(s.changed)
		s.changed = make(chan struct{})
	}()
	if s.losing {
		s.lost, s.lostSignals = append(s.lost, batch), append(s.lostSignals, batch.Signals...)
		return
	}
	at := s.progress[batch.Generation]
	switch {
	case batch.Generation == "":
		s.faults = append(s.faults, "a batch names no process")
	case batch.Offset != 0 && batch.Offset <= at.offset && len(batch.Signals) > 0 &&
		batch.Signals[0].Kind != runtime.SignalExited:
		s.faults = append(s.faults, "a line came twice: "+batch.Signals[0].Method)
		return
	}
	at.offset = max(at.offset, batch.Offset)
	if batch.State != nil {
		if !json.Valid(batch.State) {
			s.faults = append(s.faults, fmt.Sprintf("the translator's state is no JSON: %.200s", batch.State))
		}
		at.state = slices.Clone(batch.State)
	}
	s.progress[batch.Generation] = at
	s.batches, s.signals = append(s.batches, batch), append(s.signals, batch.Signals...)
	if batch.Stored != nil {
		batch.Stored()
	}
}

// stallAt makes the store stop at the first matching batch. reached is closed then. resume ends the stop; call it
// once.
func (s *Store) stallAt(match func(runtime.Batch) bool) (reached <-chan struct{}, resume func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled, s.reached, s.resumed = match, make(chan struct{}), make(chan struct{})
	return s.reached, func() { close(s.resumed) }
}

// lose simulates a server that dies before it stores its input: the store drops all later batches.
func (s *Store) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.losing = true
}

// recover simulates the store of the next server. It returns the lost lines and the number of stored batches.
func (s *Store) recover() (lost []runtime.Batch, stored int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.losing = false
	return linesOf(s.lost), len(s.batches)
}

// all returns the accepted batches.
func (s *Store) all() []runtime.Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.batches)
}

// since returns the batches of lines after the first stored ones, as soon as there are enough.
func (s *Store) since(t *testing.T, stored, lines int) []runtime.Batch {
	t.Helper()
	for deadline := time.After(Patience); ; {
		s.mu.Lock()
		again, changed := linesOf(s.batches[stored:]), s.changed
		s.mu.Unlock()
		if len(again) >= lines {
			return again
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%d lines were lost, %d repeated", lines, len(again))
		}
	}
}

// linesOf returns the batches with a line of the agent.
func linesOf(batches []runtime.Batch) (lines []runtime.Batch) {
	for _, batch := range batches {
		if batch.Offset != 0 && len(batch.Signals) > 0 {
			lines = append(lines, batch)
		}
	}
	return lines
}

// Resume returns the stored data of a process that outlived its server.
func (s *Store) Resume(_ context.Context, generation string) (runtime.Resumption, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.progress[generation]
	r := runtime.Resumption{Offset: at.offset, State: at.state}
	ended, settled := map[string]bool{}, map[string]bool{}
	for _, signal := range s.signals {
		switch change := signal.Change.(type) {
		case runtime.TurnCompleted:
			ended[change.TurnID] = true
		case runtime.RequestResolved:
			settled[string(change.RequestID)] = true
		}
	}
	for _, signal := range s.signals {
		if signal.Generation != generation {
			continue
		}
		switch change := signal.Change.(type) {
		case runtime.TurnStarted:
			if !ended[change.TurnID] {
				r.Turns = append(r.Turns, runtime.RunningTurn{ThreadID: signal.ThreadID, TurnID: change.TurnID})
			}
		case runtime.InteractiveRequested:
			if !settled[string(signal.RequestID)] && !ended[signal.TurnID] {
				r.Requests = append(r.Requests, runtime.OpenRequest{ThreadID: signal.ThreadID, TurnID: signal.TurnID,
					RequestID: signal.RequestID})
			}
		}
	}
	return r, nil
}

// Signals returns all signals so far, in order.
func (s *Store) Signals() []runtime.Signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.signals)
}

// wait returns the first signal that matches, as soon as there is one.
func (s *Store) wait(t *testing.T, what string, match func(runtime.Signal) bool) runtime.Signal {
	t.Helper()
	return s.waitIn(t, &s.signals, what, match)
}

// waitLost is wait for lost batches.
func (s *Store) waitLost(t *testing.T, what string, match func(runtime.Signal) bool) runtime.Signal {
	t.Helper()
	return s.waitIn(t, &s.lostSignals, what, match)
}

func (s *Store) waitIn(t *testing.T, received *[]runtime.Signal, what string,
	match func(runtime.Signal) bool) runtime.Signal {
	t.Helper()
	deadline := time.After(Patience)
	for next := 0; ; {
		s.mu.Lock()
		signals, changed := *received, s.changed // elements already in it never change
		s.mu.Unlock()
		if i := slices.IndexFunc(signals[next:], match); i >= 0 {
			return signals[next+i]
		}
		next = len(signals)
		select {
		case <-changed:
		case <-deadline:
			for _, signal := range signals[max(0, len(signals)-30):] {
				t.Logf("received %s %s %s %.200s", signal.Kind, signal.Method, signal.ThreadID, signal.Raw)
			}
			t.Fatalf("never received: %s", what)
		}
	}
}

// End waits for the end of a turn.
func (s *Store) End(t *testing.T, turnID string) runtime.TurnCompleted {
	t.Helper()
	return s.wait(t, "the end of turn "+turnID, endOf(turnID)).Change.(runtime.TurnCompleted)
}

func endOf(turnID string) func(runtime.Signal) bool {
	return func(signal runtime.Signal) bool {
		change, ok := signal.Change.(runtime.TurnCompleted)
		return ok && change.TurnID == turnID
	}
}

// grows reports whether a signal is a text delta.
func grows(signal runtime.Signal) bool {
	_, ok := signal.Change.(runtime.TextDelta)
	return ok
}

// Asked waits for a request of a turn.
func (s *Store) Asked(t *testing.T, turnID string, kind runtime.RequestKind) runtime.Signal {
	t.Helper()
	return s.wait(t, string(kind)+" of turn "+turnID, func(signal runtime.Signal) bool {
		change, ok := signal.Change.(runtime.InteractiveRequested)
		return ok && change.Kind == kind && signal.TurnID == turnID
	})
}

// Generations returns the started processes, in order.
func (s *Store) Generations() (started []string) {
	for _, signal := range s.Signals() {
		if signal.Kind == runtime.SignalStarted {
			started = append(started, signal.Generation)
		}
	}
	return started
}

// exits returns the exited processes.
func (s *Store) exits() (ended []string) {
	for _, signal := range s.Signals() {
		if signal.Kind == runtime.SignalExited {
			ended = append(ended, signal.Generation)
		}
	}
	return ended
}

// check fails when the signals break a rule of every runtime. Turns and items may still be open at the end.
func (s *Store) check(t *testing.T, target Target) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fault := range s.faults {
		t.Error(fault)
	}
	for _, signal := range s.signals {
		if signal.ReceivedAt.IsZero() && signal.Kind != runtime.SignalExited {
			t.Errorf("%s %s has no time", signal.Kind, signal.Method)
		}
	}
	CheckRules(t, Rules{Loose: target.Old, Unresponsive: true}, s.signals, true)
	if target.Check != nil {
		target.Check(t, s.signals)
	}
}

// BegunAfter waits for the turn that starts after another one ended.
func (s *Store) BegunAfter(t *testing.T, turnID string) string {
	t.Helper()
	ended := false
	return s.wait(t, "a turn after "+turnID, func(signal runtime.Signal) bool {
		switch change := signal.Change.(type) {
		case runtime.TurnCompleted:
			ended = ended || change.TurnID == turnID
		case runtime.TurnStarted:
			return ended
		}
		return false
	}).TurnID
}

// Exited waits for the exit of a process: that of a conversation, or that of the whole runtime when threadID is "".
func (s *Store) Exited(t *testing.T, threadID string) runtime.Signal {
	t.Helper()
	return s.wait(t, "the end of the process of "+threadID, func(signal runtime.Signal) bool {
		return signal.Kind == runtime.SignalExited && signal.Serves == threadID
	})
}

// contentOf returns the content of an item of any length.
func contentOf(item runtime.Item) string {
	var said strings.Builder
	said.WriteString(item.Content)
	for _, one := range item.LongContent {
		said.WriteString(wire.Text(one))
	}
	return said.String()
}
