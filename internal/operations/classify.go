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
	"harness/internal/services/session/rewind"
	"harness/internal/services/tools/workspace"
	"harness/internal/services/workingtree"
	"harness/internal/services/worktree"
	"harness/queue"
	"harness/transcript"
)

// Code is the meaning of an error for a client. Each protocol maps it to a status and to its wire name.
type Code string

// The codes of Classify. CodeInternal is also the code of every error without a row.
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
	CodeNoChanges          Code = "changes_unavailable"
	CodeNoLines            Code = "lines_unavailable"
	CodeTurnStateNotFound  Code = "turn_state_not_found"
	CodeChangedSince       Code = "changed_since"
	CodeFolderShared       Code = "folder_shared"
	CodeNotUndoable        Code = "not_undoable"
	CodeWorktreeNotFound   Code = "worktree_not_found"
	CodeWorktreeRefused    Code = "worktree_refused"
	CodeFileNotFound       Code = "file_not_found"
	CodeFileRefused        Code = "file_not_shown"
	CodeNoActiveTurn       Code = "no_active_turn"
	CodeTurnActive         Code = "turn_active"
	CodeAlreadyResolved    Code = "already_resolved"
	CodeRequestNotFound    Code = "request_not_found"
	CodeRequestGone        Code = "request_gone"

	CodeTaskNotFound   Code = "task_not_found"
	CodeTaskExists     Code = "task_exists"
	CodeTaskLimit      Code = "task_limit"
	CodeYoloNotAllowed Code = "yolo_not_allowed"
	CodeCallMismatch   Code = "call_mismatch"
	CodeCallNotPending Code = "call_not_pending"

	CodeUnknownRuntime     Code = "unknown_runtime"
	CodeRuntimeDisabled    Code = "runtime_disabled"
	CodeRuntimeUnavailable Code = "runtime_unavailable"
	CodeRuntimeTimeout     Code = "runtime_timeout"
	CodeRuntimeRefused     Code = "runtime_refused"
	CodeDeadline           Code = "deadline"
	CodeWiderThanParent    Code = "wider_than_parent"
	CodeKeyReused          Code = "idempotency_key_reused"
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

// Coded is an error of a package that uses this one. It states its own code.
type Coded interface {
	error
	Code() Code
}

// Failure is a classified error.
type Failure struct {
	Code Code
	// Message is safe for clients. A protocol may have its own message for a code.
	Message string
	// Retry means that the client may send the same request again; RetryAfter is when, 0 if unknown.
	Retry      bool
	RetryAfter time.Duration
	// Cause is the typed error of the row, or the whole error if the row matches a sentinel.
	Cause error
	// Native is the runtime's own refusal, or nil.
	Native *runtime.Error
}

// CauseOf returns the cause of a failure whose row matches a type.
func CauseOf[E error](f Failure) E {
	var found E
	errors.As(f.Cause, &found)
	return found
}

// Classify uses the first row of the table that matches an error.
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

// row is one row of the table: match returns the cause of a matching error, nil for any other.
type row struct {
	code   Code
	match  func(error) error
	retry  bool
	refine func(error, *Failure)
}

// typed makes a row that matches an error type.
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

// sentinel makes a row that matches some errors by errors.Is.
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

// retried makes the requests of a row retryable.
func retried(one row) row {
	one.retry = true
	return one
}

// native adds the runtime's own refusal to a row.
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

// coded takes the code from the error.
func coded() row {
	one := typed[Coded](CodeInternal)
	one.refine = func(_ error, f *Failure) { f.Code = CauseOf[Coded](*f).Code() }
	return one
}

// unreachable adds when the client can ask the owner again.
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

// treeLimit adds when the limit allows more.
func treeLimit() row {
	one := typed[*session.TreeLimitError](CodeLimitReached)
	one.refine = func(_ error, f *Failure) {
		f.RetryAfter = CauseOf[*session.TreeLimitError](*f).RetryAfter
		f.Retry = f.RetryAfter > 0
	}
	return one
}

// unavailable adds whether the runtime may soon be available: after a restart, or once it has reported an unsettled
// turn.
func unavailable() row {
	one := sentinel(CodeRuntimeUnavailable, runtime.ErrUnavailable)
	one.refine = func(err error, f *Failure) {
		f.Retry = errors.Is(err, session.ErrTurnUnsettled) || errors.Is(err, runtime.ErrProcessGone)
	}
	return one
}

// outage reports an outage of the store, unless the server is stopping.
func outage(err error) bool {
	return errors.As(err, new(*journal.OutageError)) && !errors.Is(err, journal.ErrStopped)
}

// table is the single list of errors that clients may get. The first matching row decides, so that a special case
// precedes the general one.
var table = []row{
	coded(),
	remote(),
	typed[*UnrecordedError](CodeInternal), // any reason why the record was not stored
	typed[*LimitedError](CodeProjectLimited),
	typed[*InvalidError](CodeInvalid),
	typed[*PartsError](CodeInvalidParts),
	typed[*session.WiderThanParentError](CodeWiderThanParent),
	sentinel(CodeKeyReused, session.ErrKeyReused),
	treeLimit(),
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

	// The runtime already did this: a repeated request would do it twice.
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

	sentinel(CodeQueuedNotFound, session.ErrQueuedNotFound),
	sentinel(CodeQueuedDamaged, session.ErrQueuedDamaged),
	sentinel(CodeQueuedSent, session.ErrQueuedSent),
	sentinel(CodeQueueFull, session.ErrQueueFull),

	sentinel(CodeJobsOff, ErrQueueOff),
	sentinel(CodeJobNotFound, queue.ErrNotFound),
	sentinel(CodeJobNotOver, queue.ErrNotOver),
	typed[*queue.TerminalError](CodeJobOver),
	typed[*queue.Error](CodeJobRefused),
	sentinel(CodeMissingSuggestion, ErrMissingSuggestion),

	typed[*session.NotRetryableError](CodeNotRetryable),
	typed[*session.BackgroundError](CodeBackgroundWork),
	sentinel(CodeBackgroundNotFound, runtime.ErrNoBackground),
	typed[*workingtree.UnavailableError](CodeNoChanges),
	typed[*workingtree.FileError](CodeNoLines),
	sentinel(CodeTurnStateNotFound, workingtree.ErrUnknownTurn),
	typed[*workingtree.ConflictError](CodeChangedSince),
	typed[*rewind.SharedError](CodeFolderShared),
	typed[*rewind.NotUndoableError](CodeNotUndoable),
	sentinel(CodeWorktreeNotFound, worktree.ErrNotFound),
	typed[*worktree.RefusedError](CodeWorktreeRefused),
	sentinel(CodeFileNotFound, workspace.ErrNoFile),
	typed[*workspace.RefusedError](CodeFileRefused),
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

	// A refusal by the adapter before the runtime got the request, with the adapter's message.
	sentinel(CodeTurnActive, runtime.ErrTurnActive),
	sentinel(CodeThreadNotFound, runtime.ErrThreadNotFound),
	sentinel(CodeTooLarge, runtime.ErrTooLarge),
	sentinel(CodeMethodNotSupported, runtime.ErrUnsupported),
	sentinel(CodeInvalidParams, runtime.ErrInvalidParams),
	sentinel(CodeAuthRequired, runtime.ErrAuthRequired),
	sentinel(CodeInvalidState, runtime.ErrInvalidState),
	sentinel(CodeProviderTimeout, runtime.ErrProviderTimeout),

	typed[*database.KeyError](CodeInvalidKey),
	// Earlier rows handle the connections of runtimes.
	retried(when(CodeStoreUnreadable, database.Transient)),
	sentinel(CodeCanceled, context.Canceled),
}
