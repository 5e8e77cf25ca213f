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
	"harness/stream"
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

const (
	eventDefaultsChanged = "default_controls.changed"
)

func (s *Service) runtimeStarted(name string, signal runtime.Signal) journal.Unit {
	at := s.now()
	replaced := s.view.runtimeStarted(processKey{name, signal.Serves}, signal.Generation)
	if signal.Serves == "" { // one for a single session tells nothing of the others
		s.adoption.wantAll(name)
		s.deletions.signal()
	}
	s.delivery.wantAgain()
	s.background.want(s.background.all()...)
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		var events []journal.Event
		if replaced != "" {
			// It never told of its end, yet it is not the one running.
			var err error
			if events, err = s.sweep(ctx, tx, s.opts.NodeID, only(replaced), restartReason(name), at); err != nil {
				return nil, err
			}
		}
		return append(events, runtimeEvent(eventRuntimeStarted, name, signal, at)), nil
	}
}

// runtimeExited: everything the process had open ends with it, in the same transaction as the news of its end.
func (s *Service) runtimeExited(name string, signal runtime.Signal) journal.Unit {
	at := s.now()
	s.view.runtimeExited(processKey{name, signal.Serves}, signal.Generation)
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if first, err := s.endSpool(ctx, tx, signal.Generation); err != nil || !first {
			return nil, err
		}
		events, err := s.sweep(ctx, tx, s.opts.NodeID, only(signal.Generation), exitReason(name, signal.Exit), at)
		if err != nil {
			return nil, err
		}
		return append(events, runtimeEvent(eventRuntimeExited, name, signal, at)), nil
	}
}

// recover ends what earlier processes of this node left open: the server was killed, and its runtimes with it but for
// those that survive.
func (s *Service) recover(ctx context.Context) error {
	return s.inOrder(ctx, func() journal.Unit {
		at := s.now()
		live := s.view.liveGenerations()
		for _, generation := range s.opts.Surviving {
			live[generation] = true
		}
		dead := func(generation string) bool { return !live[generation] }
		return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			if err := errors.Join(s.adoptNodes(ctx, tx), s.forgetSpools(ctx, tx, at)); err != nil {
				return nil, err
			}
			return s.sweep(ctx, tx, s.opts.NodeID, dead, "The server was restarted while this turn was running.", at)
		}
	})
}

func only(generation string) func(string) bool {
	return func(other string) bool { return other == generation }
}

// sweep expires the pending requests of dead runtime processes of a node, and those whose decision did not reach
// them any more, and interrupts their running turns.
func (s *Service) sweep(ctx context.Context, tx database.Tx, node string, dead func(generation string) bool,
	reason string, at int64) ([]journal.Event, error) {
	var events []journal.Event
	requests, err := pendingOfNode(ctx, tx, node)
	if err != nil {
		return nil, err
	}
	untold, err := undelivered(ctx, tx, node)
	if err != nil {
		return nil, err
	}
	// One that is being told is not taken back: it may have been heard.
	untold = slices.DeleteFunc(untold, func(r requestRow) bool { return s.delivery.isUnderWay(r.ID) })
	for _, request := range append(requests, untold...) {
		if !dead(request.generation) {
			continue
		}
		event, err := s.expire(ctx, tx, request, session.EventSource, at)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	turns, err := openTurns(ctx, tx, node)
	if err != nil {
		return nil, err
	}
	inTracesOf(turns, events)
	for _, turn := range turns {
		if !dead(turn.generation) {
			continue
		}
		interrupted, err := s.interrupt(ctx, tx, turn, reason, at)
		if err != nil {
			return nil, err
		}
		events = append(events, interrupted...)
	}
	left, err := s.cancelLeft(ctx, tx, node, dead, at)
	if err != nil {
		return nil, err
	}
	gone, err := s.endBackgroundOf(ctx, tx, node, dead, at)
	return append(append(events, left...), gone...), err
}

// expire ends a pending request nobody can answer any more: its row, its transcript entry, and the event that tells
// clients.
func (s *Service) expire(ctx context.Context, tx database.Tx, request requestRow, by string, at int64) (
	journal.Event, error) {
	request.Status, request.Reply, request.DecidedBy, request.SettledAt = session.RequestExpired, nil, by, at
	if _, err := settleRequest(ctx, tx, request); err != nil {
		return journal.Event{}, err
	}
	systemOwned, err := presence(ctx, tx, request.SessionID)
	if err == nil {
		_, _, err = s.entries.Upsert(ctx, tx, request.SessionID, entryOfResolution(request.Request))
	}
	if err != nil && !session.Absent(err) {
		return journal.Event{}, err
	}
	return requestResolved(request.Request, systemOwned, by), nil
}

// interrupt ends a turn whose runtime process is gone. The runtime can not say so, so this package says it in the
// runtime's words: clients that only know codex's own turn/completed stop waiting.
func (s *Service) interrupt(ctx context.Context, tx database.Tx, turn turnRow, reason string, at int64) (
	[]journal.Event, error) {
	turn.status, turn.failure, turn.completedAt, turn.cutOff = runtime.TurnInterrupted, reason, max(at,
		turn.startedAt), true
	retried, err := s.endRetry(ctx, tx, turn)
	if err != nil {
		return nil, err
	}
	dropped, err := s.tellDropped(ctx, tx, turn)
	if err := errors.Join(err, closeTurn(ctx, tx, turn), s.cancelItems(ctx, tx, turn),
		s.settleInput(ctx, tx, turn)); err != nil {
		return nil, err
	}
	meta, runtimeName := stream.Meta{Purged: true}, ""
	stored, err := readSession(ctx, tx, turn.sessionID)
	switch {
	case err == nil:
		meta = thread{systemOwned: stored.SystemOwned, title: stored.Title, projectID: stored.ProjectID}.meta(turn.sessionID)
		runtimeName = stored.Runtime
		err = touch(ctx, tx, turn.sessionID, at)
	case session.Absent(err):
		err = nil
	}
	if err != nil {
		return nil, err
	}
	failed, err := s.turnFailed(ctx, tx, turn, "")
	if err != nil {
		return nil, err
	}
	ended := wire.TurnCompleted(turn.sessionID,
		wire.Turn{ID: turn.turnID, Status: turn.status, Error: &wire.Failure{Message: turn.failure},
			StartedAt: turn.startedAt, CompletedAt: turn.completedAt})
	events := append(slices.Concat(retried, dropped, failed), spoken(runtimeName, ended, meta, at))
	inTracesOf([]turnRow{turn}, events)
	return events, nil
}

// named tells clients of a session's title where its runtime does not: in the words of one that does.
func named(session session.Session, at int64) journal.Event {
	meta := thread{systemOwned: session.SystemOwned, title: session.Title, projectID: session.ProjectID}.meta(session.ID)
	return spoken(session.Runtime, wire.ThreadNamed(session.ID, session.Title), meta, at)
}

// spoken is the event of a line of ours, in the words a runtime would have used, and in its name.
func spoken(runtimeName string, line runtime.Signal, meta stream.Meta, at int64) journal.Event {
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

// runtimeEvent says that a process of a runtime began or ended.
func runtimeEvent(kind, name string, signal runtime.Signal, at int64) journal.Event {
	return journal.Event{Type: kind, Time: at, Source: name, Payload: encode(struct {
		Runtime    string        `json:"runtime"`
		Generation string        `json:"generation"`
		Serves     string        `json:"serves,omitempty"`
		Exit       *runtime.Exit `json:"exit,omitempty"`
	}{name, signal.Generation, signal.Serves, signal.Exit})}
}
