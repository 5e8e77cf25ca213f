package runtimetest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/runtime"
)

// patience bounds every wait; only a fault uses it up.
const patience = time.Minute

// Store is what takes an adapter's batches in, in place of the sessions: it remembers how far each process was heard and in what state the
// translator was, and tells that to the adapter of the next server.
type Store struct {
	mu      sync.Mutex
	changed chan struct{}
	batches []runtime.Batch
	heard   map[string]heard
	faults  []string
}

type heard struct {
	offset int64
	state  json.RawMessage
}

// NewStore makes an empty Store.
func NewStore() *Store { return &Store{changed: make(chan struct{}), heard: map[string]heard{}} }

// Sink is the runtime.Sink of the adapter under test.
func (s *Store) Sink(batch runtime.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.heard[batch.Generation]
	switch {
	case batch.Generation == "":
		s.faults = append(s.faults, "a batch names no process")
	case batch.Offset != 0 && batch.Offset <= at.offset && len(batch.Signals) > 0 && batch.Signals[0].Kind != runtime.SignalExited:
		s.faults = append(s.faults, "a line was told twice: "+batch.Signals[0].Method)
		return
	}
	at.offset = max(at.offset, batch.Offset)
	if batch.State != nil {
		at.state = slices.Clone(batch.State)
	}
	s.heard[batch.Generation] = at
	s.batches = append(s.batches, batch)
	if batch.Stored != nil {
		batch.Stored()
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// Resume is what an adapter asks about a process that outlived its server.
func (s *Store) Resume(_ context.Context, generation string) (runtime.Resumption, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.heard[generation]
	r := runtime.Resumption{Offset: at.offset, State: at.state}
	ended, settled := map[string]bool{}, map[string]bool{}
	for _, signal := range s.signalsLocked() {
		switch change := signal.Change.(type) {
		case runtime.TurnCompleted:
			ended[change.TurnID] = true
		case runtime.RequestResolved:
			settled[string(change.RequestID)] = true
		}
	}
	for _, signal := range s.signalsLocked() {
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
				r.Requests = append(r.Requests, runtime.OpenRequest{ThreadID: signal.ThreadID, TurnID: signal.TurnID, RequestID: signal.RequestID})
			}
		}
	}
	return r, nil
}

func (s *Store) signalsLocked() (signals []runtime.Signal) {
	for _, batch := range s.batches {
		signals = append(signals, batch.Signals...)
	}
	return signals
}

// Signals are all that was heard so far, in order.
func (s *Store) Signals() []runtime.Signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signalsLocked()
}

// wait returns the first signal that matches, as soon as there is one.
func (s *Store) wait(t *testing.T, what string, match func(runtime.Signal) bool) runtime.Signal {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		signals, changed := s.signalsLocked(), s.changed
		s.mu.Unlock()
		if i := slices.IndexFunc(signals, match); i >= 0 {
			return signals[i]
		}
		select {
		case <-changed:
		case <-deadline.C:
			for _, signal := range signals[max(0, len(signals)-30):] {
				t.Logf("heard %s %s %s %.200s", signal.Kind, signal.Method, signal.ThreadID, signal.Raw)
			}
			t.Fatalf("never heard: %s", what)
		}
	}
}

// End waits for the end of a turn.
func (s *Store) End(t *testing.T, turnID string) runtime.TurnCompleted {
	t.Helper()
	return s.wait(t, "the end of turn "+turnID, func(signal runtime.Signal) bool {
		change, ok := signal.Change.(runtime.TurnCompleted)
		return ok && change.TurnID == turnID
	}).Change.(runtime.TurnCompleted)
}

// Asked waits for a request of a turn.
func (s *Store) Asked(t *testing.T, turnID string, kind runtime.RequestKind) runtime.Signal {
	t.Helper()
	return s.wait(t, string(kind)+" of turn "+turnID, func(signal runtime.Signal) bool {
		change, ok := signal.Change.(runtime.InteractiveRequested)
		return ok && change.Kind == kind && signal.TurnID == turnID
	})
}

// Generations are the processes that were heard to start, in order.
func (s *Store) Generations() (started []string) {
	for _, signal := range s.Signals() {
		if signal.Kind == runtime.SignalStarted {
			started = append(started, signal.Generation)
		}
	}
	return started
}

// check fails when the order or the completeness of what was heard breaks a rule every runtime keeps: a turn begins once and ends once, in
// this order; an item that ended began before, once; the pieces of a text are the text of the item they grew.
func (s *Store) check(t *testing.T, loose bool) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fault := range s.faults {
		t.Error(fault)
	}
	begun, ended := map[string]int{}, map[string]int{}
	items, texts := map[string]int{}, map[string]string{}
	for _, signal := range s.signalsLocked() {
		if signal.ReceivedAt.IsZero() && signal.Kind != runtime.SignalExited {
			t.Errorf("%s %s has no time", signal.Kind, signal.Method)
		}
		switch change := signal.Change.(type) {
		case runtime.TurnStarted:
			if begun[change.TurnID]++; begun[change.TurnID] > 1 || ended[change.TurnID] > 0 {
				t.Errorf("turn %s began %d times, after %d ends", change.TurnID, begun[change.TurnID], ended[change.TurnID])
			}
		case runtime.TurnCompleted:
			if ended[change.TurnID]++; ended[change.TurnID] > 1 {
				t.Errorf("turn %s ended twice", change.TurnID)
			}
		case runtime.TextDelta:
			var piece string
			if err := json.Unmarshal(signal.Raw[change.Start:change.End], &piece); err != nil {
				t.Errorf("the piece of %s is no JSON string: %v", signal.Raw, err)
			}
			if change.Into == runtime.TextContent {
				texts[signal.ItemID] += piece
			}
		case runtime.ItemChanged:
			id := change.Item.ID
			if !change.Done {
				items[id]++
				continue
			}
			if began := items[id]; began != 1 && (!loose || began != 0) {
				t.Errorf("item %s (%s) ended, and began %d times", id, change.Item.Type, items[id])
			}
			if text := texts[id]; text != "" && !strings.HasSuffix(change.Item.Content, text) {
				t.Errorf("item %s is %q, its pieces are %q", id, change.Item.Content, text)
			}
		}
	}
	for turn := range ended {
		if begun[turn] != 1 {
			t.Errorf("turn %s ended, and began %d times", turn, begun[turn])
		}
	}
}
