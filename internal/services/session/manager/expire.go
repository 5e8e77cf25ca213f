package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/background"
	"harness/internal/services/session/entryof"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
	"harness/stream"
	"harness/transcript"
)

const (
	eventRuntimeStarted = "runtime.started"
)

const (
	eventRuntimeExited = "runtime.exited"
)

const (
	eventSessionRenamed = "session.renamed"
)

const (
	eventSessionCreated = "session.created"
)

const (
	eventTurnStopped = "turn.stopped"
)

func (s *Service) runtimeStarted(name string, signal runtime.Signal) journal.Unit {
	at := s.now()
	replaced := s.index.ProcessStarted(live.ProcessKey{Runtime: name, Serves: signal.Serves}, signal.Generation)
	if signal.Serves == "" { // if one session's process ends, the others continue
		s.adoption.wantAll(name)
		s.deletions.wake.Set()
	}
	s.delivery.wantAgain()
	s.background.Want(s.background.All()...)
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		var events []journal.Event
		if replaced != "" {
			// Its end was never reported, but another process runs now.
			var err error
			if events, err = s.sweep(ctx, tx, s.opts.NodeID, isGeneration(replaced), restartReason(name), at); err != nil {
				return nil, err
			}
		}
		return append(events, runtimeEvent(eventRuntimeStarted, name, signal, at)), nil
	}
}

// runtimeExited ends everything that the exited process had open, in the transaction that stores the event of its end.
func (s *Service) runtimeExited(name string, signal runtime.Signal) journal.Unit {
	at := s.now()
	s.index.ProcessExited(live.ProcessKey{Runtime: name, Serves: signal.Serves}, signal.Generation)
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if first, err := endSpool(ctx, tx, signal.Generation); err != nil || !first {
			return nil, err
		}
		events, err := s.sweep(ctx, tx, s.opts.NodeID, isGeneration(signal.Generation), exitReason(name, signal.Exit), at)
		if err != nil {
			return nil, err
		}
		return append(events, runtimeEvent(eventRuntimeExited, name, signal, at)), nil
	}
}

// recover ends the work that earlier processes of this node left open. A kill of the server also killed its runtimes,
// except those that survive.
func (s *Service) recover(ctx context.Context) error {
	return s.InOrder(ctx, func() journal.Unit {
		at := s.now()
		live := s.index.Generations()
		for _, generation := range s.opts.Surviving {
			live[generation] = true
		}
		dead := func(generation string) bool { return !live[generation] }
		return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			if err := errors.Join(s.Ownership.AdoptNodes(ctx, tx), s.Spools.forget(ctx, tx, at)); err != nil {
				return nil, err
			}
			return s.sweep(ctx, tx, s.opts.NodeID, dead, "The server was restarted while this turn was running.", at)
		}
	})
}

func isGeneration(generation string) func(string) bool {
	return func(other string) bool { return other == generation }
}

// sweep ends the open state of dead runtime processes of a node. It expires their pending requests and undelivered
// decisions, and interrupts their running turns.
func (s *Service) sweep(ctx context.Context, tx database.Tx, node string, dead func(generation string) bool,
	reason string, at int64) ([]journal.Event, error) {
	var events []journal.Event
	requests, err := store.PendingRequestsOfNode(ctx, tx, node)
	if err != nil {
		return nil, err
	}
	undelivered, err := store.UndeliveredRequests(ctx, tx, node)
	if err != nil {
		return nil, err
	}
	// A decision that is being delivered stays: the runtime may have received it.
	undelivered = slices.DeleteFunc(undelivered, func(r store.Request) bool { return s.delivery.isUnderWay(r.ID) })
	for _, request := range append(requests, undelivered...) {
		if !dead(request.Generation) {
			continue
		}
		event, err := expireRequest(ctx, tx, request, session.EventSource, at)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	turns, err := store.OpenTurns(ctx, tx, node)
	if err != nil {
		return nil, err
	}
	inTracesOf(turns, events)
	for _, turn := range turns {
		if !dead(turn.Generation) {
			continue
		}
		interrupted, err := s.interrupt(ctx, tx, turn, reason, at)
		if err != nil {
			return nil, err
		}
		events = append(events, interrupted...)
	}
	left, err := s.items.CancelLeft(ctx, tx, node, dead, at)
	if err != nil {
		return nil, err
	}
	gone, err := s.Monitor.EndBackgroundOf(ctx, tx, node, dead, at)
	return append(append(events, left...), gone...), err
}

// expireRequest ends a pending request that no client can answer any longer: its row, its transcript entry, and an
// event.
func expireRequest(ctx context.Context, tx database.Tx, request store.Request, by string, at int64) (
	journal.Event, error) {
	request.Status, request.Reply, request.DecidedBy, request.SettledAt = session.RequestExpired, nil, by, at
	if _, err := store.SettleRequest(ctx, tx, request); err != nil {
		return journal.Event{}, err
	}
	systemOwned, err := store.IsSystemOwned(ctx, tx, request.SessionID)
	if err == nil {
		_, _, err = transcript.Store{}.Upsert(ctx, tx, request.SessionID, entryof.Resolution(request.Request))
	}
	if err != nil && !session.Absent(err) {
		return journal.Event{}, err
	}
	return entryof.Resolved(request.Request, systemOwned, by), nil
}

// interrupt ends a turn whose runtime process has ended. It publishes the runtime's own event for the end, because
// some clients know only codex's turn/completed.
func (s *Service) interrupt(ctx context.Context, tx database.Tx, turn store.Turn, reason string, at int64) (
	[]journal.Event, error) {
	turn.Status, turn.Error, turn.CompletedAt, turn.CutOff = runtime.TurnInterrupted, reason, max(at,
		turn.StartedAt), true
	retried, err := s.endRetry(ctx, tx, turn)
	if err != nil {
		return nil, err
	}
	dropped, err := recordDropped(ctx, tx, turn)
	if err := errors.Join(err, store.CloseTurn(ctx, tx, turn), s.items.Cancel(ctx, tx, turn),
		settleInput(ctx, tx, turn)); err != nil {
		return nil, err
	}
	meta, runtimeName := stream.Meta{Purged: true}, ""
	stored, err := store.ReadSession(ctx, tx, turn.SessionID)
	switch {
	case err == nil:
		meta = live.Session{SystemOwned: stored.SystemOwned, Title: stored.Title, ProjectID: stored.ProjectID}.Meta(turn.SessionID)
		runtimeName = stored.Runtime
		err = store.TouchSession(ctx, tx, turn.SessionID, at)
	case session.Absent(err):
		err = nil
	}
	if err != nil {
		return nil, err
	}
	failed, err := turnFailed(ctx, tx, turn, "")
	if err != nil {
		return nil, err
	}
	ended := wire.TurnCompleted(turn.SessionID,
		wire.Turn{ID: turn.TurnID, Status: turn.Status, Error: &wire.Failure{Message: turn.Error},
			StartedAt: turn.StartedAt, CompletedAt: turn.CompletedAt})
	events := append(slices.Concat(retried, dropped, failed), serverNotification(runtimeName, ended, meta, at))
	inTracesOf([]store.Turn{turn}, events)
	return events, nil
}

// titleNotification notifies clients of a session's title if its runtime does not. It has the format of a runtime that
// does.
func titleNotification(session session.Session, at int64) journal.Event {
	meta := live.Session{SystemOwned: session.SystemOwned, Title: session.Title, ProjectID: session.ProjectID}.Meta(session.ID)
	return serverNotification(session.Runtime, wire.ThreadNamed(session.ID, session.Title), meta, at)
}

// serverNotification is the event for a line that this server made in a runtime's format and name.
func serverNotification(runtimeName string, line runtime.Signal, meta stream.Meta, at int64) journal.Event {
	event := journal.Event{SessionID: line.ThreadID, TurnID: line.TurnID, Type: stream.EventNotification, Time: at,
		Source: runtimeName, Payload: line.Raw}
	meta.ReceivedAt, meta.TurnID, meta.Layout = at, line.TurnID, &line.Layout
	stream.SetMeta(&event, &meta)
	return event
}

func restartReason(name string) string {
	return fmt.Sprintf("The %s runtime was restarted while this turn was running.", name)
}

func exitReason(name string, exit *runtime.Exit) string {
	how := ""
	switch {
	case exit == nil:
	case exit.Reason != "":
		return fmt.Sprintf("The %s runtime was ended while this turn was running: %s.", name, exit.Reason)
	case exit.Signal != nil:
		how = fmt.Sprintf(" (signal %s)", *exit.Signal)
	case exit.Code != nil:
		how = fmt.Sprintf(" (exit code %d)", *exit.Code)
	}
	return fmt.Sprintf("The %s runtime ended%s while this turn was running.", name, how)
}

// runtimeEvent is the event for the start or end of a runtime's process.
func runtimeEvent(kind, name string, signal runtime.Signal, at int64) journal.Event {
	return journal.Event{Type: kind, Time: at, Source: name, Payload: encode(struct {
		Runtime    string        `json:"runtime"`
		Generation string        `json:"generation"`
		Serves     string        `json:"serves,omitempty"`
		Exit       *runtime.Exit `json:"exit,omitempty"`
	}{name, signal.Generation, signal.Serves, signal.Exit})}
}

// backgroundUnit stores a report of a session's background work that its runtime sent unprompted. Service.order is
// held.
func (s *Service) backgroundUnit(runtimeName string, signal runtime.Signal, change runtime.BackgroundChanged) journal.Unit {
	a := s.prepareSignal(runtimeName, signal)
	s.background.Said(signal.ThreadID, len(change.Tasks) > 0)
	news := background.Report{SessionID: signal.ThreadID, Generation: signal.Generation, Tasks: change.Tasks, At: a.receivedAt}
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		mine, err := s.Ownership.Mine(ctx, tx, signal.ThreadID, a.thread.Epoch)
		if err != nil || !mine || a.thread.Deleted {
			return nil, err
		}
		return s.Monitor.StoreBackground(ctx, tx, news)
	}
}
