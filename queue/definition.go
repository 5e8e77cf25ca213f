package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// DedupeMode says what an enqueue does when a job of the same project, type and key exists. A job without a key is
// never a duplicate.
type DedupeMode string

// The dedupe modes.
const (
	// DedupeNone queues every job.
	DedupeNone DedupeMode = "none"
	// SingleFlight returns the queued or running job.
	SingleFlight DedupeMode = "single_flight"
	// DropDuplicate returns the job in any state, as long as it is retained.
	DropDuplicate DedupeMode = "drop_duplicate"
	// MergeDuplicate merges the payload into the queued or running job and returns it.
	MergeDuplicate DedupeMode = "merge_duplicate"
)

// CancelMode says how a running job is canceled.
type CancelMode string

// The cancel modes.
const (
	// MarkCanceled ends the job at once and aborts its handler.
	MarkCanceled CancelMode = "mark_canceled"
	// InterruptTurn interrupts the handler's turn and gives it a grace to end.
	InterruptTurn CancelMode = "interrupt_turn"
)

// Contribution adds rows and events of other packages to the transaction of a job's change. It may run more than once
// and must have no effect except through tx.
type Contribution func(ctx context.Context, tx database.Tx, job Job) ([]journal.Event, error)

// Definition is one type of job and its rules. Type and Run are required.
type Definition struct {
	Type string
	// Version is stored with each job; 0 means 1.
	Version int
	// Priority is Interactive when empty.
	Priority Priority
	// Dedupe is DedupeNone when empty.
	Dedupe DedupeMode
	// Timeout bounds one attempt; 0 is the queue's default.
	Timeout time.Duration
	// Validate returns the payload to store, or why it is invalid. nil accepts every JSON object.
	Validate func(payload json.RawMessage) (json.RawMessage, error)
	// Merge is required for MergeDuplicate.
	Merge func(existing, incoming json.RawMessage) (json.RawMessage, error)
	// Run does the work of one attempt and returns the job's result. ctx ends at the timeout, on a forced cancel, and
	// when another node took the job over; context.Cause says which.
	Run func(ctx context.Context, run *Run) (json.RawMessage, error)
	// Retryable classifies an attempt's error; nil is the shared classification (see Retryable).
	Retryable func(err error) bool
	// Delay is the wait before the attempt after the n-th; nil is exponential (see BackoffDelay).
	Delay func(attempt int) time.Duration
	// Resumable: a handler that stored a checkpoint (Run.SetCheckpoint) resumes from it when its process is
	// gone, as the same attempt. An attempt without one is recovered like that of any other type.
	Resumable bool
	// Cancel is MarkCanceled when empty; Interrupt is called, best effort, on a cancel with InterruptTurn.
	Cancel    CancelMode
	Interrupt func(ctx context.Context, job Job) error

	OnQueued, OnStarted, OnTerminal Contribution
}

// registry holds the definitions by type; it is immutable. Another node with another version or other settings may
// know a type that is missing here. This node neither starts nor ends jobs of such a type.
type registry map[string]Definition

func newRegistry(definitions []Definition) registry {
	known := registry{}
	for _, d := range definitions {
		if d.Version == 0 {
			d.Version = 1
		}
		if d.Priority == "" {
			d.Priority = Interactive
		}
		if d.Dedupe == "" {
			d.Dedupe = DedupeNone
		}
		if d.Cancel == "" {
			d.Cancel = MarkCanceled
		}
		if d.Validate == nil {
			d.Validate = anyObject
		}
		if d.Retryable == nil {
			d.Retryable = Retryable
		}
		if d.Delay == nil {
			d.Delay = BackoffDelay
		}
		known[d.Type] = d
	}
	return known
}

// condition is true of jobs of these types; its parameters are numbered from first on.
func (r registry) condition(first int) (text string, args []any) {
	if len(r) == 0 {
		return `1 = 0`, nil
	}
	places := make([]string, 0, len(r))
	for _, name := range slices.Sorted(maps.Keys(r)) {
		places = append(places, "$"+strconv.Itoa(first+len(args)))
		args = append(args, database.EncodeText(name))
	}
	return `type in (` + strings.Join(places, ", ") + `)`, args
}

func anyObject(payload json.RawMessage) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(payload, &object); err != nil || object == nil {
		return nil, fmt.Errorf("payload must be a JSON object")
	}
	return payload, nil
}
