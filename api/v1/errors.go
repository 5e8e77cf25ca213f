package v1

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"harness/internal/operations"
	"harness/internal/platform/cluster/forward"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/tasks"
)

func invalid(message string) error {
	return &refusal{http.StatusBadRequest, "invalid_request", message, nil}
}

// refusalOf converts an error into a response by the error's code.
func refusalOf(err error, r *http.Request) *refusal {
	f := operations.Classify(err)
	if answer := answers[f.Code]; answer != nil {
		if known := answer(failed{f, err, r}); known != nil {
			return known
		}
	}
	return &refusal{http.StatusInternalServerError, "server_error", "internal server error", nil}
}

// failed is a classified error and the request that caused it.
type failed struct {
	operations.Failure
	err error
	r   *http.Request
}

// about adds the session of the path to the members.
func (f failed) about(more members) members {
	all := members{"session_id": sessionOf(f.r)}
	for name, value := range more {
		all[name] = value
	}
	return all
}

// call returns the members that name the tool call of the path.
func (f failed) call() members { return members{"tool_call_id": f.r.PathValue("toolCallId")} }

// says responds with a status, a code and the error's message. silent omits the message.
func says(status int, code string) func(failed) *refusal {
	return func(f failed) *refusal { return &refusal{status, code, f.Message, nil} }
}

func withoutText(status int, code string) func(failed) *refusal {
	return func(failed) *refusal { return &refusal{status, code, "", nil} }
}

// saysAbout is says with the session of the path.
func saysAbout(status int, code string) func(failed) *refusal {
	return func(f failed) *refusal { return &refusal{status, code, f.Message, f.about(nil)} }
}

// answers maps each code to a status and a body. A missing code is an internal error.
var answers = map[operations.Code]func(failed) *refusal{
	operations.CodeInvalid:        says(http.StatusBadRequest, "invalid_request"),
	operations.CodeInvalidReply:   says(http.StatusBadRequest, "invalid_request"),
	operations.CodeInvalidKey:     says(http.StatusBadRequest, "invalid_request"),
	operations.CodeProjectLimited: says(http.StatusForbidden, "project_limited"),
	operations.CodeInvalidCursor: func(f failed) *refusal {
		return &refusal{http.StatusBadRequest, "invalid_cursor", f.Message, members{"after": f.r.URL.Query().Get("after")}}
	},
	operations.CodeOwnerUnreachable: func(f failed) *refusal {
		return ownerRefusal(http.StatusServiceUnavailable, "owner_unreachable", f,
			operations.CauseOf[*forward.UnreachableError](f.Failure).NodeID)
	},
	operations.CodeTurnLeftOpen: func(f failed) *refusal {
		return ownerRefusal(http.StatusServiceUnavailable, "owner_unreachable", f, operations.CauseOf[*session.LeftOpenError](f.Failure).Owner)
	},
	operations.CodeOwnerAnswerLost: func(f failed) *refusal {
		return ownerRefusal(http.StatusGatewayTimeout, "owner_answer_lost", f, operations.CauseOf[*forward.LostAnswerError](f.Failure).NodeID)
	},
	operations.CodeNotOwner: func(f failed) *refusal {
		return &refusal{http.StatusMisdirectedRequest, "not_owner", f.Message,
			f.about(members{"node_id": operations.CauseOf[*session.NotOwnerError](f.Failure).Owner})}
	},
	operations.CodePinned: func(f failed) *refusal {
		pinned := operations.CauseOf[*session.PinnedError](f.Failure)
		return &refusal{http.StatusConflict, pinned.Code(), f.Message, f.about(members{"node_id": pinned.Owner})}
	},
	operations.CodeInvalidFolder: func(f failed) *refusal {
		return &refusal{http.StatusBadRequest, string(f.Code), f.Message,
			members{"cwd": operations.CauseOf[*session.FolderError](f.Failure).Folder}}
	},
	operations.CodeFolderMissing: func(f failed) *refusal {
		folder := operations.CauseOf[*session.FolderError](f.Failure)
		return &refusal{http.StatusConflict, string(f.Code), f.Message,
			members{"session_id": folder.SessionID, "cwd": folder.Folder}}
	},
	operations.CodeTaskNotFound: func(f failed) *refusal {
		return &refusal{http.StatusNotFound, "task_not_found", "", members{"task_id": f.r.PathValue("taskId")}}
	},
	operations.CodeTaskExists: func(failed) *refusal {
		return &refusal{http.StatusConflict, "task_exists", "a task with this id exists; omit task_id for a new one", nil}
	},
	operations.CodeYoloNotAllowed: says(http.StatusForbidden, "yolo_not_allowed"),
	operations.CodeTaskLimit: func(f failed) *refusal {
		limit := operations.CauseOf[*tasks.LimitError](f.Failure)
		return &refusal{http.StatusTooManyRequests, "backpressure", f.Message, members{"of": limit.Of, "limit": limit.Limit}}
	},
	operations.CodeCallMismatch: func(f failed) *refusal {
		mismatch, call := operations.CauseOf[*tasks.MismatchError](f.Failure), f.call()
		call["attempt"], call["input_hash"] = mismatch.Attempt, mismatch.InputHash
		return &refusal{http.StatusConflict, mismatch.Field + "_mismatch", f.Message, call}
	},
	operations.CodeCallNotPending: callNotPending,

	operations.CodeProjectNotFound: withoutText(http.StatusNotFound, "project_not_found"),
	operations.CodeSessionDeleted:  saysAbout(http.StatusGone, "session_deleted"),
	operations.CodeSessionNotFound: sessionNotFound,
	operations.CodeSystemSession:   sessionNotFound,
	operations.CodeLimitReached:    saysAbout(http.StatusTooManyRequests, "backpressure"),
	operations.CodeBackgroundWork: func(f failed) *refusal {
		return &refusal{http.StatusConflict, "background_work", f.Message,
			members{"session_id": operations.CauseOf[*session.BackgroundError](f.Failure).SessionID}}
	},
	operations.CodeBackgroundNotFound: says(http.StatusNotFound, "background_not_found"),
	operations.CodeNoChanges:          says(http.StatusConflict, "changes_unavailable"),
	operations.CodeTurnStateNotFound:  says(http.StatusNotFound, "turn_state_not_found"),
	operations.CodeChangedSince:       says(http.StatusConflict, "changed_since"),
	operations.CodeFolderShared:       says(http.StatusConflict, "folder_shared"),
	operations.CodeNotUndoable:        says(http.StatusConflict, "not_undoable"),
	operations.CodeWorktreeNotFound:   says(http.StatusNotFound, "worktree_not_found"),
	operations.CodeWorktreeRefused:    says(http.StatusConflict, "worktree_refused"),
	operations.CodeFileNotFound:       says(http.StatusNotFound, "file_not_found"),
	operations.CodeFileRefused:        says(http.StatusConflict, "file_not_shown"),
	operations.CodeUnknownRuntime: func(f failed) *refusal {
		return &refusal{http.StatusBadRequest, "unknown_runtime", "",
			members{"runtime": operations.CauseOf[*session.UnknownRuntimeError](f.Failure).Runtime}}
	},
	operations.CodeRuntimeDisabled: func(f failed) *refusal {
		return &refusal{http.StatusConflict, "runtime_disabled", f.Message,
			members{"runtime": operations.CauseOf[*operations.DisabledRuntimeError](f.Failure).Runtime}}
	},
	operations.CodeUnsupportedControl: unsupportedControl,
	operations.CodeUnsupported:        says(http.StatusConflict, "not_supported"),

	operations.CodeNoActiveTurn:       runtimeRefusal,
	operations.CodeRequestGone:        runtimeRefusal,
	operations.CodeRuntimeUnavailable: runtimeRefusal,
	operations.CodeRuntimeTimeout:     runtimeRefusal,
	operations.CodeStoreLate:          runtimeRefusal,
	operations.CodeDeadline:           runtimeRefusal,
	operations.CodeRuntimeRefused:     runtimeRefusal,
	operations.CodeTooLarge:           runtimeRefusal,
	operations.CodeMethodNotSupported: runtimeRefusal,
	operations.CodeInvalidParams:      runtimeRefusal,
	operations.CodeAuthRequired:       runtimeRefusal,
	operations.CodeInvalidState:       runtimeRefusal,

	operations.CodeStoreRefuses:    storeRefusal,
	operations.CodeStoreUnreadable: storeRefusal,
	operations.CodeStoreDeadline:   storeRefusal,
	operations.CodeShuttingDown: func(f failed) *refusal {
		if errors.As(f.err, new(*journal.OutageError)) || database.Transient(f.err) {
			return storeRefusal(f)
		}
		return nil
	},
	operations.CodeCanceled: func(f failed) *refusal {
		if errors.Is(f.err, context.Canceled) && f.r.Context().Err() != nil {
			return &refusal{499, "client_gone", "", nil} // the client disconnected and reads no response
		}
		return nil
	},
}

// callNotPending names who decided the call, if that is known.
func callNotPending(f failed) *refusal {
	call, settled := f.call(), (*session.SettledError)(nil)
	if !errors.As(f.err, &settled) {
		return &refusal{http.StatusNotFound, "tool_call_not_pending", "", call}
	}
	call["status"], call["decided_by"] = settled.Request.Status, settled.Request.DecidedBy
	return &refusal{http.StatusNotFound, "tool_call_not_pending", "the call was already decided", call}
}

func ownerRefusal(status int, code string, f failed, node string) *refusal {
	return &refusal{status, code, f.Cause.Error(), members{"node_id": node}}
}

// sessionNotFound names the runtimes that may have the session but could not be queried.
func sessionNotFound(f failed) *refusal {
	var unknown *session.UnknownError
	if errors.As(f.err, &unknown) {
		return &refusal{http.StatusNotFound, "session_not_found", f.Message,
			f.about(members{"details": members{"not_asked": unknown.NotAsked}})}
	}
	return &refusal{http.StatusNotFound, "session_not_found", "", f.about(nil)}
}

func unsupportedControl(f failed) *refusal {
	control := operations.CauseOf[*runtime.ControlError](f.Failure)
	if control.Field != "nativeTools" || control.Value != runtime.NativeToolsOff {
		return &refusal{http.StatusBadRequest, "not_supported", f.Message, members{"field": control.Field}}
	}
	return &refusal{http.StatusBadRequest, "unsupported_control", fmt.Sprintf("sessions of this API have no native tools by default, "+
		"and the %s runtime cannot turn its own off: open the session with \"native_tools\": \"on\"",
		control.Runtime) + control.Because, members{"field": "native_tools", "runtime": control.Runtime}}
}

// runtimeRefusal handles an unavailable runtime and refusals by a runtime or its adapter. It returns nil for other
// errors.
func runtimeRefusal(f failed) *refusal {
	switch err := f.err; {
	case errors.Is(err, runtime.ErrAuthRequired):
		return &refusal{http.StatusConflict, "auth_required", err.Error(), nil}
	case errors.Is(err, runtime.ErrUnavailable), errors.Is(err, runtime.ErrTimeout):
		return &refusal{http.StatusServiceUnavailable, "runtime_unavailable", err.Error(), nil}
	case f.Native != nil:
		return &refusal{http.StatusBadGateway, "runtime_error", f.Native.Message, members{"runtime": f.Native.Runtime}}
	case errors.Is(err, runtime.ErrTooLarge):
		return &refusal{http.StatusRequestEntityTooLarge, "payload_too_large", err.Error(), nil}
	case runtime.Refused(err):
		return &refusal{http.StatusBadRequest, "invalid_request", err.Error(), nil}
	}
	return nil
}

func storeRefusal(f failed) *refusal {
	return &refusal{http.StatusServiceUnavailable, "store_unavailable", "the store is unavailable: " +
		database.Reason(f.err) + "; send the request again later", nil}
}
