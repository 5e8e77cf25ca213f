package operations

import (
	"context"
	"errors"
	"time"

	"harness/internal/platform/cluster/forward"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/queue"
	"harness/transcript"
)

// Code says what an error means to a client. Each protocol maps it to a status and to its own name on the wire.
type Code string

// The codes of Classify. CodeInternal is also the code of every error that no row knows.
const (
	CodeInternal Code = "internal_error"
	CodeCanceled Code = "canceled"

	CodeProjectLimited  Code = "project_limited"
	CodeInvalid         Code = "invalid_request"
	CodeInvalidParts    Code = "invalid_parts"
	CodeInvalidReply    Code = "invalid_reply"
	CodeInvalidTools    Code = "invalid_tools"
	CodeInvalidSettings Code = "invalid_settings"
	CodeInvalidKey      Code = "invalid_key"
	CodeInvalidFolder   Code = "invalid_cwd"
	CodeInvalidCursor   Code = "invalid_cursor"
	CodeUnknownAnchor   Code = "unknown_anchor"

	CodeOwnerUnreachable Code = "owner_unreachable"
	CodeOwnerAnswerLost  Code = "owner_answer_lost"
	CodeTurnLeftOpen     Code = "turn_left_open"
	CodeNotOwner         Code = "not_owner"
	CodePinned           Code = "pinned"

	CodeStoreRefuses    Code = "store_refuses_writes"
	CodeStoreLate       Code = "store_late"
	CodeStoreUnreadable Code = "store_unreadable"
	CodeStoreDeadline   Code = "store_deadline"
	CodeShuttingDown    Code = "shutting_down"

	CodeSessionDeleted  Code = "session_deleted"
	CodeSessionNotFound Code = "session_not_found"
	CodeSystemSession   Code = "system_session"
	CodeFolderMissing   Code = "workspace_missing"
	CodeNotMaterialized Code = "not_materialized"
	CodeEntryNotFound   Code = "entry_not_found"

	CodeUnknownProject    Code = "unknown_project"
	CodeProjectNotFound   Code = "project_not_found"
	CodeDuplicateName     Code = "duplicate_name"
	CodeProjectNotEmpty   Code = "project_not_empty"
	CodeEmptySessions     Code = "not_materialized_sessions"
	CodeQueuedNotFound    Code = "queued_not_found"
	CodeQueuedDamaged     Code = "queued_damaged"
	CodeQueuedSent        Code = "queued_sent"
	CodeQueueFull         Code = "queue_full"
	CodeJobsOff           Code = "jobs_off"
	CodeJobNotFound       Code = "job_not_found"
	CodeJobNotOver        Code = "job_not_over"
	CodeJobOver           Code = "job_over"
	CodeJobRefused        Code = "job_refused"
	CodeMissingSuggestion Code = "missing_suggestion"

	CodeNotRetryable       Code = "not_retryable"
	CodeBackgroundWork     Code = "background_work"
	CodeBackgroundNotFound Code = "background_not_found"
	CodeNoActiveTurn       Code = "no_active_turn"
	CodeTurnActive         Code = "turn_active"
	CodeAlreadyResolved    Code = "already_resolved"
	CodeRequestNotFound    Code = "request_not_found"
	CodeRequestGone        Code = "request_gone"

	CodeUnknownRuntime     Code = "unknown_runtime"
	CodeRuntimeDisabled    Code = "runtime_disabled"
	CodeRuntimeUnavailable Code = "runtime_unavailable"
	CodeRuntimeTimeout     Code = "runtime_timeout"
	CodeRuntimeRefused     Code = "runtime_refused"
	CodeDeadline           Code = "deadline"
	CodeLimitReached       Code = "limit_reached"
	CodeUnsupported        Code = "unsupported_by_runtime"
	CodeUnsupportedControl Code = "unsupported_control"
	CodeThreadNotFound     Code = "thread_not_found"
	CodeTooLarge           Code = "too_large"
	CodeMethodNotSupported Code = "method_not_supported"
	CodeInvalidParams      Code = "invalid_params"
	CodeAuthRequired       Code = "auth_required"
	CodeInvalidState       Code = "invalid_state"
	CodeProviderTimeout    Code = "provider_timeout"
)

// Failure is a classified error.
type Failure struct {
	Code Code
	// Message is fit for clients. A protocol may have words of its own for a code.
	Message string
	// Retry says that the same request may be sent again later, RetryAfter when; 0 is not known.
	Retry      bool
	RetryAfter time.Duration
	// Cause is the typed error of the row, or the whole error where the row is about a sentinel.
	Cause error
	// Native is the runtime's own refusal, nil when the error is none.
	Native *runtime.Error
}

// CauseOf is the cause of a failure whose row is about a type.
func CauseOf[E error](f Failure) E {
	var found E
	errors.As(f.Cause, &found)
	return found
}

// Classify finds the first row of the table that knows an error.
func Classify(err error) Failure {
	for _, one := range table {
		cause := one.match(err)
		if cause == nil {
			continue
		}
		f := Failure{Code: one.code, Message: err.Error(), Retry: one.retry, Cause: cause}
		if one.refine != nil {
			one.refine(err, &f)
		}
		return f
	}
	return Failure{Code: CodeInternal, Message: "internal server error", Cause: err}
}

// row is one row of the table: match returns the cause of an error that the row knows, nil of any other.
type row struct {
	code   Code
	match  func(error) error
	retry  bool
	refine func(error, *Failure)
}

// typed is a row about an error of a type.
func typed[E error](code Code, also ...func(E) bool) row {
	return row{code: code, match: func(err error) error {
		var found E
		if !errors.As(err, &found) {
			return nil
		}
		for _, holds := range also {
			if !holds(found) {
				return nil
			}
		}
		return found
	}}
}

// sentinel is a row about some errors of errors.Is.
func sentinel(code Code, known ...error) row {
	return when(code, func(err error) bool {
		for _, one := range known {
			if errors.Is(err, one) {
				return true
			}
		}
		return false
	})
}

func when(code Code, holds func(error) bool) row {
	return row{code: code, match: func(err error) error {
		if holds(err) {
			return err
		}
		return nil
	}}
}

// retried marks a row whose request may be sent again.
func retried(one row) row {
	one.retry = true
	return one
}

// native has a row note the runtime's own refusal.
func native(one row) row {
	refine := one.refine
	one.refine = func(err error, f *Failure) {
		errors.As(err, &f.Native)
		if refine != nil {
			refine(err, f)
		}
	}
	return one
}

// unreachable notes when the owner can be asked again.
func unreachable() row {
	one := retried(typed[*forward.UnreachableError](CodeOwnerUnreachable))
	one.refine = func(_ error, f *Failure) {
		var found *forward.UnreachableError
		if errors.As(f.Cause, &found) {
			f.Message, f.RetryAfter = found.Error(), found.RetryAfter
		}
	}
	return one
}

// unavailable notes whether the runtime may soon be back: a turn is unsettled until its runtime has said so, and
// another process follows one that is gone.
func unavailable() row {
	one := sentinel(CodeRuntimeUnavailable, runtime.ErrUnavailable)
	one.refine = func(err error, f *Failure) {
		f.Retry = errors.Is(err, session.ErrTurnUnsettled) || errors.Is(err, runtime.ErrProcessGone)
	}
	return one
}

// outage is an outage of the store, unless the server is stopping.
func outage(err error) bool {
	return errors.As(err, new(*journal.OutageError)) && !errors.Is(err, journal.ErrStopped)
}

// table is the one list of errors that clients may meet. The first row that knows an error decides, so that a special
// case stands before the general one.
var table = []row{
	typed[*UnrecordedError](CodeInternal), // whatever kept the record from being stored
	typed[*LimitedError](CodeProjectLimited),
	typed[*InvalidError](CodeInvalid),
	typed[*PartsError](CodeInvalidParts),
	typed[*runtime.ReplyError](CodeInvalidReply),
	typed[*DisabledRuntimeError](CodeRuntimeDisabled),
	typed[*session.UnknownRuntimeError](CodeUnknownRuntime),
	typed[*session.ToolsError](CodeInvalidTools),
	typed[*session.SettingsLimitError](CodeInvalidSettings),
	sentinel(CodeInvalidCursor, session.ErrBadCursor, queue.ErrBadCursor),
	sentinel(CodeUnknownAnchor, transcript.ErrBadCursor),

	unreachable(),
	retried(typed[*session.LeftOpenError](CodeTurnLeftOpen)),
	typed[*forward.LostAnswerError](CodeOwnerAnswerLost),
	sentinel(CodeEntryNotFound, session.ErrNoEntry),

	// The runtime did already what was asked: sent again it would be done twice.
	when(CodeStoreLate, func(err error) bool { return outage(err) && errors.Is(err, runtime.ErrTimeout) }),
	retried(when(CodeStoreRefuses, outage)),
	retried(when(CodeStoreUnreadable, func(err error) bool {
		return database.Refused(err) && !errors.Is(err, journal.ErrStopped)
	})),

	typed[*session.DeletedError](CodeSessionDeleted),
	typed[*session.NotOwnerError](CodeNotOwner),
	typed[*session.PinnedError](CodePinned),
	typed(CodeInvalidFolder, func(e *session.FolderError) bool { return e.SessionID == "" }),
	typed[*session.FolderError](CodeFolderMissing),
	typed[*SystemSessionError](CodeSystemSession),
	sentinel(CodeSessionNotFound, session.ErrNotFound),
	sentinel(CodeNotMaterialized, session.ErrNotMaterialized),

	typed[*UnknownProjectError](CodeUnknownProject),
	sentinel(CodeProjectNotFound, session.ErrProjectNotFound),
	typed[*session.DuplicateNameError](CodeDuplicateName),
	typed[*session.ProjectNotEmptyError](CodeProjectNotEmpty),
	typed[*session.NotMaterializedError](CodeEmptySessions),

	sentinel(CodeQueuedNotFound, session.ErrWaitingNotFound),
	sentinel(CodeQueuedDamaged, session.ErrWaitingDamaged),
	sentinel(CodeQueuedSent, session.ErrWaitingSent),
	sentinel(CodeQueueFull, session.ErrWaitingFull),

	sentinel(CodeJobsOff, ErrQueueOff),
	sentinel(CodeJobNotFound, queue.ErrNotFound),
	sentinel(CodeJobNotOver, queue.ErrNotOver),
	typed[*queue.TerminalError](CodeJobOver),
	typed[*queue.Error](CodeJobRefused),
	sentinel(CodeMissingSuggestion, ErrMissingSuggestion),

	typed[*session.NotRetryableError](CodeNotRetryable),
	typed[*session.BackgroundError](CodeBackgroundWork),
	sentinel(CodeBackgroundNotFound, runtime.ErrNoBackground),
	native(sentinel(CodeNoActiveTurn, session.ErrNoActiveTurn, session.ErrWrongTurn, runtime.ErrNoActiveTurn)),
	typed[*session.SettledError](CodeAlreadyResolved),
	sentinel(CodeRequestNotFound, session.ErrRequestNotFound),
	native(sentinel(CodeRequestGone, runtime.ErrRequestGone)),

	retried(typed[*session.LimitError](CodeLimitReached)),
	typed[*runtime.UnsupportedError](CodeUnsupported),
	typed[*runtime.ControlError](CodeUnsupportedControl),
	native(unavailable()),
	sentinel(CodeShuttingDown, journal.ErrStopped),
	native(sentinel(CodeRuntimeTimeout, runtime.ErrTimeout)),
	native(when(CodeStoreDeadline, func(err error) bool {
		return errors.Is(err, context.DeadlineExceeded) && database.Transient(err)
	})),
	native(sentinel(CodeDeadline, context.DeadlineExceeded)),
	native(typed[*runtime.Error](CodeRuntimeRefused)),

	// What the adapter refused before the runtime got it, in the adapter's own words.
	sentinel(CodeTurnActive, runtime.ErrTurnActive),
	sentinel(CodeThreadNotFound, runtime.ErrThreadNotFound),
	sentinel(CodeTooLarge, runtime.ErrTooLarge),
	sentinel(CodeMethodNotSupported, runtime.ErrUnsupported),
	sentinel(CodeInvalidParams, runtime.ErrInvalidParams),
	sentinel(CodeAuthRequired, runtime.ErrAuthRequired),
	sentinel(CodeInvalidState, runtime.ErrInvalidState),
	sentinel(CodeProviderTimeout, runtime.ErrProviderTimeout),

	typed[*database.KeyError](CodeInvalidKey),
	// The connections of runtimes are known by now.
	retried(when(CodeStoreUnreadable, database.Transient)),
	sentinel(CodeCanceled, context.Canceled),
}
