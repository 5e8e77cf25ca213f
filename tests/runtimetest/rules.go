package runtimetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"harness/internal/runtime"
)

// Rules check the signals of every runtime. A turn starts once and ends once, and so does each of its items. The
// deltas of a text add up to it. Only open requests are closed, and before their turn ends. The zero value is ready.
type Rules struct {
	// Loose is for an agent that may end an item without its start.
	Loose bool
	// Tidy is for a translator: all signals are within their turn, and every open item ends before the turn does.
	Tidy bool
	// Unresponsive means that the end of a turn closes its requests without a signal.
	Unresponsive bool

	begun, ended  map[string]int
	items         map[string]*itemState
	asked, closed map[string]string // the turns of requests
}

// itemState is the published part of an item.
type itemState struct {
	turn          string
	begun, ended  int
	outlives      bool
	before, grown string
}

// CheckRules fails when signals break the rules, or leave something open; cut means that they end in the middle of a
// turn.
func CheckRules(t testing.TB, rules Rules, signals []runtime.Signal, cut bool) {
	t.Helper()
	for i, signal := range signals {
		if fault := rules.Take(signal); fault != "" {
			t.Errorf("signal %d, %s: %s", i, signal.Method, fault)
		}
	}
	if !cut {
		for _, fault := range rules.Open() {
			t.Error(fault)
		}
	}
}

// Take returns the rule that the next signal breaks, "" for none.
func (r *Rules) Take(signal runtime.Signal) string {
	if r.begun == nil {
		r.begun, r.ended, r.items = map[string]int{}, map[string]int{}, map[string]*itemState{}
		r.asked, r.closed = map[string]string{}, map[string]string{}
	}
	if signal.Raw != nil && !json.Valid(signal.Raw) {
		return "it is no JSON"
	}
	request := signal.Generation + " " + string(signal.RequestID)
	switch change := signal.Change.(type) {
	case runtime.TurnStarted:
		if r.begun[change.TurnID]++; r.begun[change.TurnID] > 1 || r.ended[change.TurnID] > 0 {
			return fmt.Sprintf("turn %s began %d times, after %d ends", change.TurnID, r.begun[change.TurnID],
				r.ended[change.TurnID])
		}
	case runtime.TurnCompleted:
		return r.end(change)
	case runtime.ItemChanged:
		return r.item(change)
	case runtime.TextDelta:
		return r.delta(signal, change)
	case runtime.InteractiveRequested:
		if r.asked[request] = signal.TurnID; change.Kind != runtime.RequestToolCall { // the end of these is never published
			delete(r.closed, request)
		} else {
			r.closed[request] = signal.TurnID
		}
	case runtime.RequestResolved:
		request = signal.Generation + " " + string(change.RequestID)
		turn, was := r.asked[request]
		if !was {
			return "request " + request + " is closed and was not open"
		}
		r.closed[request] = turn
	}
	if r.Tidy && signal.TurnID != "" && (r.begun[signal.TurnID] != 1 || r.ended[signal.TurnID] > 1) {
		return fmt.Sprintf("its turn %s began %d times and ended %d times", signal.TurnID, r.begun[signal.TurnID],
			r.ended[signal.TurnID])
	}
	return ""
}

func (r *Rules) end(change runtime.TurnCompleted) string {
	turn := change.TurnID
	if r.ended[turn]++; r.ended[turn] > 1 || r.begun[turn] != 1 || change.Status == runtime.TurnInProgress {
		return fmt.Sprintf("turn %s ended %d times (%s), and began %d times", turn, r.ended[turn], change.Status, r.begun[turn])
	}
	if open := r.requests(turn); len(open) > 0 && !r.Unresponsive {
		return fmt.Sprintf("turn %s ends before its requests %q are closed", turn, open)
	}
	if open := r.open(func(item *itemState) bool { return item.turn == turn }); len(open) > 0 {
		return fmt.Sprintf("turn %s ends before its items %q", turn, open)
	}
	return ""
}

func (r *Rules) item(change runtime.ItemChanged) string {
	id := change.Item.ID
	item := r.items[id]
	if item == nil {
		item = &itemState{turn: change.TurnID, outlives: change.Item.Outlives}
		r.items[id] = item
	}
	if r.Tidy && (r.begun[change.TurnID] != 1 || r.ended[change.TurnID] > 0 && !change.Item.Outlives) {
		return "item " + id + " is outside of its turn " + change.TurnID
	}
	if !change.Done {
		if item.begun++; item.begun > 1 || item.ended > 0 {
			return fmt.Sprintf("item %s began %d times, after %d ends", id, item.begun, item.ended)
		}
		item.before = contentOf(change.Item)
		return ""
	}
	if item.ended++; (item.ended > 1 || item.begun != 1) && (!r.Loose || item.begun > 1) {
		return fmt.Sprintf("item %s (%s) ended %d times, and began %d times", id, change.Item.Type, item.ended, item.begun)
	}
	said := contentOf(change.Item)
	if item.grown == "" || said == item.before+item.grown ||
		change.Item.Role != "assistant" && strings.HasSuffix(said, item.grown) {
		return ""
	}
	return fmt.Sprintf("item %s is %.200q, its pieces are %.200q", id, said, item.before+item.grown)
}

func (r *Rules) delta(signal runtime.Signal, change runtime.TextDelta) string {
	var delta string
	if err := json.Unmarshal(signal.Raw[change.Start:change.End], &delta); err != nil {
		return "the piece is no JSON string: " + err.Error()
	}
	item := r.items[signal.ItemID]
	if item == nil || item.ended > 0 {
		if r.Tidy {
			return "a piece of item " + signal.ItemID + ", which is not open"
		}
		return ""
	}
	if change.Into == runtime.TextContent {
		item.grown += delta
	}
	return ""
}

// requests returns the open requests of a turn.
func (r *Rules) requests(turn string) (open []string) {
	for request, of := range r.asked {
		if _, closed := r.closed[request]; !closed && of == turn {
			open = append(open, request)
		}
	}
	return open
}

// open returns the items that have no end and must have one.
func (r *Rules) open(which func(*itemState) bool) (ids []string) {
	for id, item := range r.items {
		if r.Tidy && item.ended == 0 && !item.outlives && which(item) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Open returns the faults of open turns, items and requests.
func (r *Rules) Open() (faults []string) {
	for _, turn := range slices.Sorted(maps.Keys(r.begun)) {
		if r.ended[turn] != 1 {
			faults = append(faults, fmt.Sprintf("turn %s ended %d times", turn, r.ended[turn]))
		}
	}
	for _, id := range r.open(func(*itemState) bool { return true }) {
		faults = append(faults, "item "+id+" did not end")
	}
	if open := r.requests(""); len(open) > 0 && !r.Unresponsive {
		faults = append(faults, fmt.Sprintf("requests %q were not closed", open))
	}
	return faults
}
