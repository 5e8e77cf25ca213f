package extensions

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"harness/extensions/sdk"
	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime/wire"
	"harness/stream"
	"harness/transcript"
)

// The synthesised events.
const (
	EventFileChange     = "file_change.approval_requested"
	EventTurnCompleted  = "turn.completed"
	EventSuggestRequest = "suggest_request.requested"
)

// The sources of EventFileChange.
const (
	sourceRequest   = "approval_request"
	sourceReconcile = "approvals_reconcile"
)

// maxTranscript bounds the transcript text of an event in bytes; the end of the transcript is kept.
const maxTranscript = 40_000

// eventContext is the context member of synthesised events.
type eventContext struct {
	ProjectID       string `json:"projectId"`
	SourceSessionID string `json:"sourceSessionId"`
	ThreadID        string `json:"threadId"`
	TurnID          string `json:"turnId"`
	ItemID          string `json:"itemId,omitempty"`
	ApprovalID      string `json:"approvalId,omitempty"`
	AnchorItemID    string `json:"anchorItemId,omitempty"`
	UserRequest     string `json:"userRequest,omitempty"`
	TurnTranscript  string `json:"turnTranscript,omitempty"`
}

// fileChangeRequested records that the turn changes files (otherwise it has no turn.completed), and emits the event.
func (d *Dispatcher) fileChangeRequested(ctx context.Context, rec *journal.Record, request stream.RequestRef,
	params json.RawMessage) {
	anchor := request.ItemID
	if anchor == "" {
		anchor = request.ID
	}
	job := dispatch{key: "file_change|" + request.ID, kind: EventFileChange, nodeID: d.opts.NodeID,
		sessionID: rec.SessionID, turnID: request.TurnID, requestID: request.ID, state: dispatchPending, createdAt: d.now()}
	var opened bool
	_, err := d.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if err := noteFileChange(ctx, tx, job, anchor); err != nil {
			return nil, err
		}
		var err error
		opened, err = openDispatch(ctx, tx, job)
		return nil, err
	})
	if err != nil || !opened {
		d.logFailure(ctx, err, job)
		return
	}
	if len(params) == 0 {
		params = json.RawMessage("null")
	}
	d.fileChange(d.opts.Journal.Reading(ctx), job, fileChange{summary: request.Summary, details: params, itemID: request.ItemID,
		source: sourceRequest})
}

type fileChange struct {
	summary, itemID, source string
	details                 json.RawMessage
}

// fileChange emits one file_change.approval_requested, only for sessions of a project, as in codex-manager. The
// context comes from Journal.Reading.
func (d *Dispatcher) fileChange(ctx context.Context, job dispatch, change fileChange) {
	info, ok := d.describe(ctx, job)
	if !ok {
		return
	}
	if info.ProjectID == nil {
		job.state = dispatchAbandoned
		d.settle(ctx, job)
		return
	}
	if !d.opts.Registry.Subscribed(EventFileChange) {
		return // a later reload may load a handler, which reconciles it
	}
	turn := d.turnText(ctx, job.sessionID, job.turnID)
	payload := struct {
		Context          eventContext `json:"context"`
		Summary          string       `json:"summary"`
		Details          string       `json:"details"`
		SourceEvent      string       `json:"sourceEvent"`
		FileChangeStatus string       `json:"fileChangeStatus"`
	}{eventContext{ProjectID: *info.ProjectID, SourceSessionID: job.sessionID, ThreadID: job.sessionID, TurnID: job.turnID,
		ItemID: change.itemID, ApprovalID: job.requestID, AnchorItemID: change.itemID, UserRequest: turn.request,
		TurnTranscript: turn.transcript},
		change.summary, string(change.details), change.source, "pending_approval"}
	results, err := d.emit(ctx, job, EventFileChange, encode(payload), *info.ProjectID)
	if err != nil {
		d.logFailure(ctx, err, job)
		return
	}
	job.attempts++
	if actionable(results) {
		job.state = dispatchDone
	}
	d.settle(ctx, job)
}

// turnCompleted opens the dispatch of a turn's end if the turn asked to change files.
func (d *Dispatcher) turnCompleted(ctx context.Context, rec *journal.Record, meta *stream.Meta) {
	turnID := rec.TurnID
	if turnID == "" {
		turnID = meta.TurnID
	}
	if turnID == "" || rec.SessionID == "" || !d.opts.Registry.Subscribed(EventTurnCompleted) {
		return
	}
	job := dispatch{key: "turn.completed|" + rec.SessionID + "|" + turnID, kind: EventTurnCompleted, nodeID: d.opts.NodeID,
		sessionID: rec.SessionID, turnID: turnID, state: dispatchPending, createdAt: d.now()}
	changes, err := d.fileChanges(ctx, job)
	if err != nil || changes == 0 {
		d.logFailure(ctx, err, job)
		return
	}
	var opened bool
	_, err = d.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		var err error
		opened, err = openDispatch(ctx, tx, job)
		return nil, err
	})
	if err != nil || !opened {
		d.logFailure(ctx, err, job)
		return
	}
	d.turnEnd(ctx, job)
}

// fileChanges counts a turn's requested file changes: from its records, otherwise from the transcript (for a turn that
// started under another server).
func (d *Dispatcher) fileChanges(ctx context.Context, job dispatch) (int, error) {
	count, err := countFileChanges(ctx, d.opts.DB.Read(), job.sessionID, job.turnID)
	if err != nil || count > 0 {
		return count, err
	}
	entries, err := transcript.Store{}.ListTurn(ctx, d.opts.DB.Read(), job.sessionID, job.turnID)
	if err != nil {
		return 0, err
	}
	for i := range entries {
		if entries[i].Type != "approval.request" || entries[i].Details == nil {
			continue
		}
		var details struct{ Method string }
		if json.Unmarshal([]byte(*entries[i].Details), &details) == nil && details.Method == wire.MethodApproveFileChange {
			count++
		}
	}
	return count, nil
}

// turnEnd emits turn.completed once and schedules a retry if no handler acted on it.
func (d *Dispatcher) turnEnd(ctx context.Context, job dispatch) {
	ctx = d.opts.Journal.Reading(ctx)
	info, ok := d.describe(ctx, job)
	if !ok {
		return
	}
	changes, err := d.fileChanges(ctx, job)
	if err != nil {
		d.logFailure(ctx, err, job)
		return
	}
	if info.ProjectID == nil || changes == 0 {
		job.state = dispatchAbandoned
		d.settle(ctx, job)
		return
	}
	turn := d.turnText(ctx, job.sessionID, job.turnID)
	payload := struct {
		Context  eventContext `json:"context"`
		Had      bool         `json:"hadFileChangeRequests"`
		Snapshot string       `json:"turnTranscriptSnapshot"`
		Count    int          `json:"fileChangeRequestCount"`
	}{eventContext{ProjectID: *info.ProjectID, SourceSessionID: job.sessionID, ThreadID: job.sessionID, TurnID: job.turnID,
		UserRequest: turn.request},
		true, turn.transcript, changes}
	results, err := d.emit(ctx, job, EventTurnCompleted, encode(payload), *info.ProjectID)
	if err != nil || ctx.Err() != nil {
		d.logFailure(ctx, err, job)
		return // canceled by Stop: the next start retries
	}
	job.attempts++
	switch {
	case actionable(results):
		job.state = dispatchDone
	case job.attempts > len(d.opts.Retry):
		job.state = dispatchAbandoned
		d.opts.Logger.Warn().Str("session", job.sessionID).Str("turn", job.turnID).Int("attempts", job.attempts).
			Msg("no extension acted on the end of this turn; giving up")
	}
	d.settle(ctx, job)
	if job.state == dispatchPending {
		d.retry.add(job, d.opts.Clock().Add(d.opts.Retry[job.attempts-1]))
	}
}

// emit dispatches an event to extensions once its source rows are durable.
func (d *Dispatcher) emit(ctx context.Context, job dispatch, eventType string, payload json.RawMessage,
	projectID string) ([]sdk.EmitResult, error) {
	if err := d.opts.Journal.Settled(ctx); err != nil {
		return nil, err
	}
	event := &Event{Type: eventType, EmittedAt: javascript.ISOTime(d.now()), CorrelationID: job.key, Payload: payload}
	return d.opts.Registry.Emit(ctx, event, Scope{ProjectID: projectID, SessionID: job.sessionID, TurnID: job.turnID}), nil
}

// describe finds the session of a dispatch; a deleted session or a worker's ends the dispatch.
func (d *Dispatcher) describe(ctx context.Context, job dispatch) (SessionInfo, bool) {
	info, err := d.opts.Sessions.Describe(ctx, job.sessionID)
	if errors.Is(err, ErrSessionGone) || (err == nil && info.SystemOwned) {
		job.state = dispatchAbandoned
		d.settle(ctx, job)
		return SessionInfo{}, false
	}
	if err != nil {
		d.logFailure(ctx, err, job)
		return SessionInfo{}, false
	}
	return info, true
}

// settle stores the state of a dispatch.
func (d *Dispatcher) settle(ctx context.Context, job dispatch) {
	_, err := d.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return nil, updateDispatch(ctx, tx, job, d.now())
	})
	d.logFailure(ctx, err, job)
}

func (d *Dispatcher) logFailure(ctx context.Context, err error, job dispatch) {
	if err != nil && ctx.Err() == nil {
		d.opts.Logger.Error().Err(err).Str("event", job.kind).Str("session", job.sessionID).Str("turn", job.turnID).
			Msg("an event for extensions is delayed; the next start retries it")
	}
}

func (d *Dispatcher) now() int64 { return d.opts.Clock().UnixMilli() }

// turnText is the text of a turn for extensions.
type turnText struct{ request, transcript string }

// turnText reads a turn's text from the stored transcript; of a long text it returns only the end. It does not call the
// runtime.
func (d *Dispatcher) turnText(ctx context.Context, sessionID, turnID string) turnText {
	entries, err := transcript.Store{}.ListTurn(ctx, d.opts.DB.Read(), sessionID, turnID)
	if err != nil {
		d.opts.Logger.Warn().Err(err).Str("session", sessionID).Msg("the transcript for an extension event cannot be read")
		return turnText{}
	}
	var out turnText
	var text strings.Builder
	for i := range entries {
		entry := &entries[i]
		if entry.Role == "user" && out.request == "" {
			out.request = entry.Content
		}
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(entry.Role + " " + entry.Type + ": " + entry.Content)
	}
	out.transcript = lastBytes(text.String(), maxTranscript)
	return out
}

func lastBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[len(text)-limit:]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}
