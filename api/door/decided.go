package door

import (
	"context"
	"errors"

	"harness/api/calls"
	"harness/internal/operations"
	"harness/internal/platform/telemetry"
	"harness/internal/services/audit"
	"harness/internal/services/session"
)

// Decided records what a caller decided about a request of a session, which ended with err, and shows the client with
// say why it does not count. late: another one decided before.
func (c *Caller) Decided(ctx context.Context, about audit.Call, err error, say func(string)) (late bool) {
	about.Outcome = "ok"
	if err != nil {
		failed := operations.Classify(err)
		about.Outcome, about.Code = "refused", string(failed.Code)
		var settled *session.SettledError
		switch late = errors.As(err, &settled); {
		case late:
			say(Late(settled))
		case failed.Code == operations.CodeInternal:
			telemetry.Log(ctx).Error().Err(err).Str("session_id", about.SessionID).Msg("a decision was not stored")
			say("The decision was not stored; the request is still open.")
		default:
			say("The decision did not count: " + failed.Message)
		}
	}
	calls.Record(ctx, c.Principal, about)
	return late
}

// Already is what a client is shown about a request that another one decided. The actors of the owner's token and of an
// open server are no names.
func Already(decision, by string) string {
	done := map[string]string{"accept": "accepted", "decline": "declined", "cancel": "canceled"}[decision]
	if done == "" {
		done = "answered"
	}
	switch by {
	case "":
	case "token":
		by = " by the owner"
	case "local":
		by = " by someone on this machine"
	default:
		by = " by " + by
	}
	return "Already " + done + by + "."
}

// Late is Already for a client whose decision came too late.
func Late(settled *session.SettledError) string {
	decision := ""
	if settled.Request.Reply != nil {
		decision = settled.Request.Reply.Decision
	}
	return Already(decision, settled.Request.DecidedBy)
}
