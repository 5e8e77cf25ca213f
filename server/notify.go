package server

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"harness/internal/platform/config"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/notify"
	"harness/internal/services/notify/decidelink"
	"harness/internal/services/session"
	"harness/stream"
)

// notifications sends messages to people, with links that decide requests.
type notifications struct {
	*core
	access   *access
	calls    *callLog
	notifier *notify.Notifier
	links    *decidelink.Signer // nil if decision links are disabled
	push     *pushAccess        // nil if push is disabled
}

// Start starts to send notifications.
func (s *notifications) Start(ctx context.Context) error {
	set := s.cfg.Notify
	if err := s.startLinks(ctx); err != nil {
		return err
	}
	var targets []notify.Target
	if set.WebhookURL != "" {
		webhook, err := notify.NewWebhook(set.WebhookURL, set.WebhookSecret)
		if err != nil {
			return &config.UsageError{Err: err}
		}
		targets = append(targets, webhook)
	}
	if set.NtfyURL != "" {
		ntfy, err := notify.NewNtfy(set.NtfyURL)
		if err != nil {
			return &config.UsageError{Err: err}
		}
		targets = append(targets, ntfy)
	}
	if err := s.startPush(ctx); err != nil {
		return err
	}
	var push *notify.Push
	if s.push != nil {
		push = s.push.Push
	}
	s.notifier = notify.New(notify.Options{DB: s.db, Clock: s.now, Targets: targets, Push: push, Read: s.journal.Read, Head: s.journal.Head,
		NewsOf: func(record *journal.Record) (notify.News, bool) {
			news, is := newsOf(record)
			return news, is && slices.Contains(set.Kinds, string(news.Kind))
		}, Waits: s.requestWaits, PublicURL: set.PublicURL, DecideLink: s.linkFor, Ended: s.metrics.Notified.Ended,
		Logger: s.log.With().Str("package", "notify").Logger()})
	return s.notifier.Start(ctx)
}

// Stop stops the notifications.
func (s *notifications) Stop(ctx context.Context) error { return s.notifier.Stop(ctx) }

// requestWaits reports whether a request still waits for a decision.
func (s *notifications) requestWaits(ctx context.Context, news notify.News) (bool, error) {
	kind := runtime.RequestApproval
	if news.Kind == notify.QuestionWaits {
		kind = runtime.RequestToolInput
	}
	request, err := s.sessions.Reader.Request(ctx, news.RequestID, kind)
	if errors.Is(err, session.ErrRequestNotFound) {
		return false, nil
	}
	return err == nil && request.Status == session.RequestPending, err
}

// eventJobFailed is the type of the queue's event.
const eventJobFailed = "orchestrator_job_failed"

// newsOf converts an event to news, false for none. Sessions of workers produce none: their jobs do.
func newsOf(record *journal.Record) (news notify.News, is bool) {
	if record.Type == eventJobFailed {
		var job struct {
			ID string `json:"jobId"`
		}
		err := json.Unmarshal(record.Payload, &job)
		return notify.News{Kind: notify.JobFailed, SessionID: record.SessionID, JobID: job.ID}, err == nil
	}
	if record.Type != stream.EventRequest && record.Type != stream.EventNotification {
		return news, false
	}
	meta, err := stream.MetaOf(&record.Event)
	if err != nil || meta.SystemOwned || meta.Purged {
		return news, false
	}
	news = notify.News{SessionID: record.SessionID, TurnID: meta.TurnID}
	if record.Type == stream.EventRequest {
		if meta.Request == nil {
			return news, false
		}
		news.RequestID = meta.Request.ID
		switch runtime.RequestKind(meta.Request.Kind) {
		case runtime.RequestApproval:
			news.Kind = notify.ApprovalWaits
		case runtime.RequestToolInput:
			news.Kind = notify.QuestionWaits
		default:
			return news, false // a program answers it
		}
		return news, true
	}
	if len(record.Payload) == 0 && meta.Messages != nil { // the end of a turn in a long line
		news.Kind = notify.TurnEnded
		return news, true
	}
	line, ok := stream.LineOf(&record.Event, meta)
	if !ok || string(line.Method) != `"`+wire.MethodTurnCompleted+`"` {
		return news, false
	}
	var ended struct {
		Turn struct {
			ID     string
			Status runtime.TurnStatus
		}
	}
	if json.Unmarshal(line.Params, &ended) != nil {
		return news, false
	}
	news.Kind, news.TurnID = notify.TurnEnded, ended.Turn.ID
	if ended.Turn.Status == runtime.TurnFailed {
		news.Kind = notify.TurnFailed
	}
	return news, true
}
