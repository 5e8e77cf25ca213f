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

// DedupeMode selects what an enqueue does when a job of the same project, type and key exists. A job without a key is
// never a duplicate.
type DedupeMode string

// The dedupe modes.
const (
	// DedupeNone queues every job.
	DedupeNone DedupeMode = "none"
	// SingleFlight returns the queued or running job.
	SingleFlight DedupeMode = "single_flight"
	// DropDuplicate returns the existing job in any state, while it is retained.
	DropDuplicate DedupeMode = "drop_duplicate"
	// MergeDuplicate merges the payload into the queued or running job and returns it.
	MergeDuplicate DedupeMode = "merge_duplicate"
)

// CancelMode says how a running job is canceled.
type CancelMode string

// The cancel modes.
const (
	// MarkCanceled ends the job immediately and cancels its handler's context.
	MarkCanceled CancelMode = "mark_canceled"
	// InterruptTurn interrupts the handler's turn and gives the handler a grace period to end.
	InterruptTurn CancelMode = "interrupt_turn"
)

// Contribution adds rows and events of other packages to the transaction of a job's change. It may run more than once
// and must have no effect except through tx.
type Contribution func(ctx context.Context, tx database.Tx, job Job) ([]journal.Event, error)

// Definition describes one type of job and its rules. Type and Run are required.
type Definition struct {
	Type string
	// Version is stored with each job; 0 means 1.
	Version int
	// Priority defaults to Interactive.
	Priority Priority
	// Dedupe defaults to DedupeNone.
	Dedupe DedupeMode
	// Timeout bounds one attempt; 0 means the queue's default.
	Timeout time.Duration
	// Validate returns the payload to store, or an error if it is invalid. nil accepts every JSON object.
	Validate func(payload json.RawMessage) (json.RawMessage, error)
	// Merge merges a new payload into an existing one. It is required for MergeDuplicate.
	Merge func(existing, incoming json.RawMessage) (json.RawMessage, error)
	// Run executes one attempt and returns the job's result. ctx ends at the timeout, on a forced cancel, and when
	// another node took over the job; context.Cause returns the reason.
	Run func(ctx context.Context, run *Run) (json.RawMessage, error)
	// Retryable classifies an attempt's error; nil means the shared classification (see Retryable).
	Retryable func(err error) bool
	// Delay returns the wait after the n-th attempt; nil means exponential (see BackoffDelay).
	Delay func(attempt int) time.Duration
	// Resumable: after its process exited, a handler that stored a checkpoint (Run.SetCheckpoint) resumes from it, as
	// the same attempt. An attempt without a checkpoint is recovered like an attempt of any other type.
	Resumable bool
	// Cancel defaults to MarkCanceled. A cancel with InterruptTurn calls Interrupt, best effort.
	Cancel    CancelMode
	Interrupt func(ctx context.Context, job Job) error

	OnQueued, OnStarted, OnTerminal Contribution
}

// registry holds the definitions by type; it is immutable. Another node with another version or other settings may know
// a type that is missing here. This node neither starts nor ends jobs of such a type.
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

// condition returns a SQL condition that matches jobs of these types; its parameters are numbered from first.
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
