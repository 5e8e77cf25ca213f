package manager

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/entryof"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
	"harness/internal/services/session/usage"
	"harness/stream"
)

// ingest stores the changes that one native line describes. It updates the view and queues the events with their state
// changes as one unit. It waits for room in the journal's queue, not for the commit: a slow store slows the runtime,
// and nothing is dropped. It returns the session to store the native line with, "" for none.
func (s *Service) ingest(runtimeName string, batch runtime.Batch) (nativeOf string) {
	named := s.resolver.preload(runtimeName, batch)
	s.resolver.ignoreStrange(runtimeName, batch)
	for s.order.Lock(); !s.index.Has(named...); s.order.Lock() { // a session was evicted in between
		s.order.Unlock()
		named = s.resolver.preload(runtimeName, batch)
	}
	defer s.order.Unlock()

	if s.isDuplicate(runtimeName, batch) {
		s.flushTexts(batch.Generation)
		s.submit(runtimeName, batch, nothing)
		return ""
	}
	ours := make([]bool, len(batch.Signals))
	for i := range batch.Signals {
		ours[i] = s.resolver.identify(runtimeName, &batch.Signals[i])
	}
	nativeOf = s.natives.SessionOf(batch, ours)
	natives := s.natives.Events(runtimeName, nativeOf, batch.Native)
	if onlyDeltas(batch) && !slices.Contains(ours, false) && !s.retrying(batch) {
		s.acceptDeltas(runtimeName, batch, natives)
		return nativeOf
	}
	s.flushTexts(batch.Generation)
	units, exited := make([]journal.Unit, len(batch.Signals)), false
	for i, signal := range batch.Signals {
		if !ours[i] {
			units[i] = s.resolver.ignoreForeign(runtimeName, signal)
			continue
		}
		known, _ := s.index.Peek(signal.ThreadID)
		if units[i] = s.unitOf(runtimeName, signal); s.answersAgain(signal) {
			units[i] = inSequence([]journal.Unit{s.modelAnswers(signal, known.Retrying), units[i]})
		}
		exited = exited || signal.Kind == runtime.SignalExited
	}
	s.submit(runtimeName, batch, s.once(runtimeName, batch, s.after(natives, inSequence(units))))
	if exited {
		delete(s.texts.buffers, batch.Generation)
	}
	return nativeOf
}

// isDuplicate reports whether this server has already ingested a batch: after an attachment, the process's output is
// read again. Service.order is held.
func (s *Service) isDuplicate(runtimeName string, batch runtime.Batch) bool {
	if batch.Offset == 0 {
		return false
	}
	p := s.textBuffer(runtimeName, batch.Generation)
	if batch.Offset <= p.readTo {
		return true
	}
	p.readTo = batch.Offset
	return false
}

// unitOf updates the view for a signal and returns its unit. Service.order is held.
func (s *Service) unitOf(runtimeName string, signal runtime.Signal) journal.Unit {
	switch signal.Kind {
	case runtime.SignalStarted:
		return s.runtimeStarted(runtimeName, signal)
	case runtime.SignalExited:
		return s.runtimeExited(runtimeName, signal)
	case runtime.SignalUnanswered:
		return s.Upserter.unanswered(runtimeName, signal)
	}
	if opened, is := signal.Change.(runtime.ThreadOpened); is && opened.SystemOwned {
		return s.workerOpener.workerOpened(runtimeName, signal.ThreadID)
	}
	if s.overruled(runtimeName, signal) {
		return nothing
	}
	var a arrival
	switch change := signal.Change.(type) {
	case runtime.BackgroundChanged:
		return s.backgroundUnit(runtimeName, signal, change)
	case runtime.TextDelta:
		a = s.standaloneDelta(runtimeName, signal, change)
	default:
		s.Monitor.WantBackground(signal)
		a = s.prepareSignal(runtimeName, signal)
		s.Stopper.watchSilence(signal) // after the index has the turn, which a stop needs
		if _, began := change.(runtime.TurnStarted); began {
			s.adoption.wantDescription(runtimeName, signal.ThreadID)
		}
		s.endTexts(a)
		s.toStore(signal)
	}
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) { return s.apply(ctx, tx, a) }
}

// inSequence joins several units into one.
func inSequence(units []journal.Unit) journal.Unit {
	if len(units) == 1 {
		return units[0]
	}
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		var events []journal.Event
		for _, unit := range units {
			more, err := unit(ctx, tx)
			if err != nil {
				return nil, err
			}
			events = append(events, more...)
		}
		return events, nil
	}
}

// after returns a unit that puts the events of native lines of this node's sessions before its own.
func (s *Service) after(events []journal.Event, unit journal.Unit) journal.Unit {
	if len(events) == 0 {
		return unit
	}
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		var own []journal.Event
		for _, event := range events {
			known, _ := s.index.Peek(event.SessionID)
			mine, err := s.Ownership.Mine(ctx, tx, event.SessionID, known.Epoch)
			if err != nil {
				return nil, err
			}
			if mine {
				own = append(own, event)
			}
		}
		more, err := unit(ctx, tx)
		return append(own, more...), err
	}
}

func nothing(context.Context, database.Tx) ([]journal.Event, error) { return nil, nil }

// submit queues the unit of a batch; the batch's Stored is called after the commit.
func (s *Service) submit(runtimeName string, batch runtime.Batch, unit journal.Unit) {
	report := func(_ []journal.Record, err error) {
		if err == nil && batch.Stored != nil {
			batch.Stored()
		}
		if err != nil && !expected(err) {
			failure := s.opts.Logger.Error().Err(err).Str("runtime", runtimeName)
			for _, signal := range batch.Signals[:min(1, len(batch.Signals))] {
				failure = failure.Str("method", signal.Method).Str("session", signal.ThreadID)
			}
			failure.Msg("output of a runtime could not be stored; the transcript of this turn may be incomplete")
		}
	}
	// Set no deadline: only the end of the journal may refuse a signal.
	if err := s.journal.Submit(context.Background(), unit, report); err != nil {
		report(nil, err)
	}
}

// arrival is a signal with the data of its arrival. Its unit can run twice with the same result.
type arrival struct {
	runtime    string
	signal     runtime.Signal
	thread     live.Session
	meta       stream.Meta
	receivedAt int64
	requestID  string // this server's id for an interactive request
}

// usageReport converts the signal for package usage.
func (a arrival) usageReport() usage.Report {
	return usage.Report{Runtime: a.runtime, SessionID: a.signal.ThreadID, TurnID: a.meta.TurnID, Method: a.signal.Method,
		Params: a.meta.Layout.Params.Of(a.signal.Raw), At: a.receivedAt, Running: a.thread.ActiveTurn != ""}
}

// prepareSignal updates the view for a signal.
func (s *Service) prepareSignal(runtimeName string, signal runtime.Signal) arrival {
	a := arrival{runtime: runtimeName, signal: signal, receivedAt: signal.ReceivedAt.UnixMilli()}
	if signal.ReceivedAt.IsZero() {
		a.receivedAt = s.now()
	}
	if _, ok := signal.Change.(runtime.InteractiveRequested); ok {
		a.requestID = ids.New()
	}
	if signal.ThreadID != "" {
		s.workerOpener.updateView(signal)
		a.thread, _ = s.index.Get(signal.ThreadID)
		a.meta = a.thread.Meta(signal.ThreadID)
		if signal.Method == wire.MethodThreadStarted && a.meta.Session != nil {
			a.meta.Session.Title = "" // it starts unnamed, even if it has a name by now
		}
		s.index.Update(signal.ThreadID, func(t *live.Session) {
			t.Stored = true // this unit makes a missing row
			if completed, ok := signal.Change.(runtime.TurnCompleted); ok {
				t.End(completed.TurnID)
			}
		})
		if !a.thread.Stored && !a.thread.Deleted {
			s.adoption.want(runtimeName, signal.ThreadID)
		}
	}
	if signal.ThreadID == "" && !s.opts.OnlyNode {
		a.meta.Node = s.opts.NodeID
	}
	_, resolved := signal.Change.(runtime.RequestResolved)
	if signal.Kind == runtime.SignalRequest || resolved {
		a.meta.RequestID = new(string)
	}
	a.meta.ReceivedAt = a.receivedAt
	if a.meta.Layout = &signal.Layout; signal.Layout == (runtime.Layout{}) {
		_, layout, _ := wire.LayoutOf(signal.Raw) // a line without a method has no layout
		a.meta.Layout = &layout
	}
	a.meta.TurnID = signal.TurnID
	if a.meta.TurnID == "" {
		a.meta.TurnID = a.thread.ActiveTurn
	}
	return a
}

// LoadView loads a session into the view. After a read error it stays absent, and the unit reads the rows itself.
func (s *Service) LoadView(runtimeName, id string) {
	if err := s.tryLoad(runtimeName, id); err != nil {
		s.opts.Logger.Warn().Err(err).Str("session", id).
			Msg("cannot read a session; its next event has no title")
	}
}

func (s *Service) tryLoad(runtimeName, id string) error {
	if _, ok := s.index.Get(id); ok {
		return nil
	}
	t, err := s.storedThread(context.Background(), runtimeName, id)
	if err == nil && s.index.Put(id, t) {
		s.adoption.wantRoom()
	}
	return err
}

// storedThread reads a session from the store.
func (s *Service) storedThread(ctx context.Context, runtimeName, id string) (live.Session, error) {
	stored, err := store.ReadSession(ctx, s.db.Read(), id)
	var gone *session.DeletedError
	switch {
	case errors.As(err, &gone):
		if gone.Runtime != "" {
			runtimeName = gone.Runtime
		}
		return live.Session{Runtime: runtimeName, Stored: true, Deleted: true, SystemOwned: gone.SystemOwned}, nil
	case errors.Is(err, session.ErrNotFound):
		return live.Session{Runtime: runtimeName}, nil
	case err != nil:
		return live.Session{}, err
	}
	t := live.Session{Runtime: stored.Runtime, Native: stored.RuntimeSessionID, Stored: true, SystemOwned: stored.SystemOwned,
		Title: stored.Title, NamedByUser: stored.TitleSource == session.TitleUser, ProjectID: stored.ProjectID, Epoch: stored.Epoch}
	if !s.Ownership.Owns(stored.Session) {
		if stored.Epoch > 0 {
			t.Epoch = live.NotOwned
		}
		return t, nil // its own node receives the end of its turn
	}
	if t.ActiveTurn, t.Trace, err = store.RunningTurn(ctx, s.db.Read(), id); database.Transient(err) {
		return live.Session{}, err
	}
	if err != nil {
		s.opts.Logger.Warn().Err(err).Str("session", id).Msg("cannot read the running turn; assuming the session is idle")
	}
	if t.ActiveTurn != "" {
		err = s.loadRetrying(ctx, id, &t)
	}
	return t, err
}

// event returns the event of a signal, without its meta.
func (a arrival) event() journal.Event {
	event := journal.Event{SessionID: a.signal.ThreadID, TurnID: a.meta.TurnID, ItemID: a.signal.ItemID,
		Type: stream.EventNotification, Time: a.receivedAt, Source: a.runtime, Payload: a.signal.Raw,
		Broadcast: stream.Broadcasts(a.signal.Method) &&
			!a.meta.SystemOwned}
	if a.signal.Kind == runtime.SignalRequest {
		event.Type = stream.EventRequest
	}
	return event
}

// apply runs inside the journal's transaction: it stores a signal's state changes, then its event.
func (s *Service) apply(ctx context.Context, tx database.Tx, a arrival) ([]journal.Event, error) {
	signal := a.signal
	if mine, err := s.Ownership.Mine(ctx, tx, signal.ThreadID, a.thread.Epoch); err != nil || !mine {
		return nil, err
	}
	meta := a.meta
	event := a.event()
	var before []journal.Event
	if signal.ThreadID != "" && (signal.Change != nil || !a.thread.Stored) && !a.thread.Deleted {
		systemOwned, err := s.workerOpener.ensureRow(ctx, tx, a)
		var gone *session.DeletedError
		switch {
		case errors.As(err, &gone):
			// The session was deleted while the signal was queued. The journal stores the signal as one of a purged
			// session, and it changes nothing.
			meta.Purged, meta.Session, meta.SystemOwned = true, nil, gone.SystemOwned
		case err != nil:
			return nil, err
		default:
			meta.SystemOwned = systemOwned || a.thread.Undecided
			if before, err = s.change(ctx, tx, a, &meta); err != nil {
				return nil, err
			}
		}
	}
	if err := usage.Record(ctx, tx, a.usageReport()); err != nil {
		return nil, err
	}
	stream.SetMeta(&event, &meta)
	events := append(before, event)
	if meta.Request == nil {
		return events, nil
	}
	decided, err := s.decider.Decide(ctx, tx, a.signal, a.receivedAt, meta.Request.ID)
	return append(events, decided...), err
}

// change stores the state of a signal. Its events precede the signal's own, as in codex-manager.
func (s *Service) change(ctx context.Context, tx database.Tx, a arrival, meta *stream.Meta) ([]journal.Event, error) {
	id := a.signal.ThreadID
	switch change := a.signal.Change.(type) {
	case runtime.TurnStarted:
		turn := store.Turn{SessionID: id, TurnID: change.TurnID, Generation: a.signal.Generation, NodeID: s.opts.NodeID,
			StartedAt: a.moment(change.StartedAt), Native: change.Native}
		if a.thread.Trace.TurnID == change.TurnID {
			turn.Trace = a.thread.Trace.String()
		}
		return nil, errors.Join(store.OpenTurn(ctx, tx, turn), store.TouchSession(ctx, tx, id, a.receivedAt))
	case runtime.TurnCompleted:
		events, err := s.turnCompleted(ctx, tx, a, change)
		if err != nil {
			return nil, err
		}
		left, err := s.entries.CountTurn(ctx, tx, id, change.TurnID)
		meta.Messages = &left
		return events, err
	case runtime.ItemChanged:
		turnID := change.TurnID
		if turnID == "" {
			turnID = a.meta.TurnID
		}
		if change.Item.ID == "" {
			return nil, nil
		}
		if err := s.items.Upsert(ctx, tx, id, entryof.Item(turnID, change, a.receivedAt), change.Item); err != nil {
			return nil, err
		}
		if change.Done {
			return nil, errors.Join(store.StoreMessage(ctx, tx, id, change.Item), store.EndItem(ctx, tx, id, change.Item.ID))
		}
		return nil, store.BeginItem(ctx, tx, s.opts.NodeID, store.RunningItem{SessionID: id, MessageID: change.Item.ID, TurnID: turnID,
			Generation: a.signal.Generation, Outlives: change.Item.Outlives})
	case runtime.ThreadNamed:
		return []journal.Event{sessionRenamed(id, change.Name, a.receivedAt)}, errors.Join(
			store.SetReportedTitle(ctx, tx, id, change.Name), store.TouchSession(ctx, tx, id, a.receivedAt))
	case runtime.InteractiveRequested:
		return nil, s.requested(ctx, tx, a, change, meta)
	case runtime.TurnRetrying:
		return s.turnRetrying(ctx, tx, a, change, meta.SystemOwned)
	case runtime.RequestResolved:
		return s.resolvedElsewhere(ctx, tx, a, change, meta)
	}
	return nil, nil
}

// moment corrects the time (ms) of a runtime that counts whole seconds. Uncorrected, a turn would sort before one
// accepted earlier in the same second. Its end would sort before its last items.
func (a arrival) moment(said int64) int64 {
	switch since := a.receivedAt - said; {
	case said == 0 || since >= 0 && since < 1000:
		return a.receivedAt
	case since >= 1000 && said%1000 == 0: // received late
		return said + 999
	}
	return said
}

func (s *Service) turnCompleted(ctx context.Context, tx database.Tx, a arrival, change runtime.TurnCompleted) (
	[]journal.Event, error) {
	turn := store.Turn{SessionID: a.signal.ThreadID, TurnID: change.TurnID, Status: change.Status, Error: change.Error,
		Generation: a.signal.Generation, NodeID: s.opts.NodeID, StartedAt: change.StartedAt,
		CompletedAt: a.moment(change.CompletedAt), Native: change.Native}
	turn.CutOff = turn.Status == runtime.TurnInterrupted && turn.Error != "" // a stop has no error text
	events, err := s.endRetry(ctx, tx, turn)
	if err != nil {
		return nil, err
	}
	dropped, err := recordDropped(ctx, tx, turn)
	events = append(events, dropped...)
	err = errors.Join(err, store.CloseTurn(ctx, tx, turn), s.items.Cancel(ctx, tx, turn), settleInput(ctx, tx, turn),
		store.TouchSession(ctx, tx, turn.SessionID, a.receivedAt))
	if err != nil {
		return nil, err
	}
	// Requests of this turn can no longer be answered; not every runtime reports that for every kind. Its calls to
	// this server's tools are void as well.
	pending, err := store.PendingRequests(ctx, tx, turn.SessionID)
	if err != nil {
		return nil, err
	}
	for _, request := range pending {
		if request.TurnID != turn.TurnID || request.Generation != a.signal.Generation && request.Runtime != session.EventSource {
			continue
		}
		event, err := expireRequest(ctx, tx, request, a.runtime, a.receivedAt)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	if turn.Status == runtime.TurnFailed {
		failed, err := turnFailed(ctx, tx, turn, change.Remedy)
		return append(append(events, failed...), a.turnError(eventTurnFailed, turnError{TurnID: turn.TurnID,
			Kind: errorKind(change.Kind), ProviderStatus: change.ProviderStatus})), err
	}
	return events, nil
}

func (s *Service) requested(ctx context.Context, tx database.Tx, a arrival, change runtime.InteractiveRequested,
	meta *stream.Meta) error {
	request, err := store.ReadNativeRequest(ctx, tx, a.signal.Generation, a.signal.RequestID)
	if errors.Is(err, session.ErrRequestNotFound) {
		request = store.Request{
			Request: session.Request{ID: a.requestID, Kind: change.Kind, SessionID: a.signal.ThreadID, TurnID: a.meta.TurnID,
				ItemID: a.signal.ItemID, Method: a.signal.Method, Summary: change.Summary, Params: params(a.signal.Params),
				Decisions: change.Decisions, Questions: change.Questions, Asked: change.Asked,
				Status: session.RequestPending, CreatedAt: a.receivedAt},
			Runtime: a.runtime, Generation: a.signal.Generation, NodeID: s.opts.NodeID, NativeID: a.signal.RequestID,
		}
		if err := store.InsertRequest(ctx, tx, request); err != nil {
			return err
		}
		_, _, err = s.entries.Upsert(ctx, tx, request.SessionID, entryof.Request(request.Request))
	}
	if err != nil {
		return err
	}
	// A runtime repeats its request after an attachment: the request and its id stay the same.
	meta.RequestID = &request.ID
	meta.Request = &stream.RequestRef{ID: request.ID, Kind: string(request.Kind), Summary: request.Summary,
		ThreadID: request.SessionID, TurnID: request.TurnID, ItemID: request.ItemID, CreatedAt: request.CreatedAt,
		Decisions: request.Decisions, Questions: request.Questions}
	return nil
}

func params(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// resolvedElsewhere handles a request that the runtime closed. If this server answered it, it is already settled;
// otherwise no client can answer it any longer.
func (s *Service) resolvedElsewhere(ctx context.Context, tx database.Tx, a arrival, change runtime.RequestResolved,
	meta *stream.Meta) ([]journal.Event, error) {
	request, err := store.ReadNativeRequest(ctx, tx, a.signal.Generation, change.RequestID)
	if errors.Is(err, session.ErrRequestNotFound) {
		return nil, nil // the request was refused
	}
	if err != nil {
		return nil, err
	}
	meta.RequestID = &request.ID
	if request.Status != session.RequestPending {
		return nil, nil
	}
	event, err := expireRequest(ctx, tx, request, a.runtime, a.receivedAt)
	if err != nil {
		return nil, err
	}
	return []journal.Event{event}, nil
}
