package v1

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/tasks"
)

func invalid(message string) error {
	return &refusal{http.StatusBadRequest, "invalid_request", message, nil}
}

// refusalOf words what the services refuse.
func refusalOf(err error, r *http.Request) *refusal {
	for _, row := range []func(error, *http.Request) *refusal{ownerRefusals, taskRefusals, sessionRefusals, runtimeRefusals} {
		if told := row(err, r); told != nil {
			return told
		}
	}
	var outage *journal.OutageError
	if errors.As(err, &outage) || database.Transient(err) {
		return &refusal{http.StatusServiceUnavailable, "store_unavailable", "the store is out of reach: " +
			database.Reason(err) + "; send the request again later", nil}
	}
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return &refusal{499, "client_gone", "", nil} // nobody reads it
	}
	return &refusal{http.StatusInternalServerError, "server_error", "internal server error", nil}
}

func taskRefusals(err error, r *http.Request) *refusal {
	task, call := members{"task_id": r.PathValue("task")}, members{"tool_call_id": r.PathValue("call")}
	var (
		limit    *tasks.LimitError
		mismatch *tasks.MismatchError
		settled  *session.SettledError
		invalid  *operations.InvalidError
		part     *tasks.PartError
		reply    *runtime.ReplyError
		key      *database.KeyError
	)
	switch {
	case errors.Is(err, tasks.ErrNotFound):
		return &refusal{http.StatusNotFound, "task_not_found", "", task}
	case errors.Is(err, tasks.ErrExists):
		return &refusal{http.StatusConflict, "task_exists", "there is a task of that id already; leave task_id out for a new one",
			nil}
	case errors.Is(err, tasks.ErrYolo):
		return &refusal{http.StatusForbidden, "yolo_not_allowed", err.Error(), nil}
	case errors.As(err, &limit):
		return &refusal{http.StatusTooManyRequests, "backpressure", err.Error(), members{"of": limit.Of, "limit": limit.Limit}}
	case errors.As(err, &mismatch):
		call["attempt"], call["input_hash"] = mismatch.Attempt, mismatch.InputHash
		return &refusal{http.StatusConflict, mismatch.Field + "_mismatch", err.Error(), call}
	case errors.As(err, &settled):
		call["status"], call["decided_by"] = settled.Request.Status, settled.Request.DecidedBy
		return &refusal{http.StatusNotFound, "tool_call_not_pending", "it was decided before", call}
	case errors.Is(err, tasks.ErrNotPending):
		return &refusal{http.StatusNotFound, "tool_call_not_pending", "", call}
	case errors.As(err, &invalid), errors.As(err, &reply), errors.As(err, &key), errors.As(err, &part):
		return &refusal{http.StatusBadRequest, "invalid_request", err.Error(), nil}
	}
	return nil
}

func sessionRefusals(err error, r *http.Request) *refusal {
	about := members{"session_id": r.PathValue("session")}
	var (
		gone      *session.DeletedError
		system    *operations.SystemSessionError
		elsewhere *session.NotOwnerError
		pinned    *session.PinnedError
		turns     *session.LimitError
		limited   *operations.LimitedError
		folder    *session.FolderError
		unknown   *session.UnknownError
	)
	switch {
	case errors.As(err, &folder) && folder.SessionID == "":
		return &refusal{http.StatusBadRequest, folder.Code(), err.Error(), members{"cwd": folder.Folder}}
	case errors.As(err, &folder):
		about["session_id"], about["cwd"] = folder.SessionID, folder.Folder
		return &refusal{http.StatusConflict, folder.Code(), err.Error(), about}
	case errors.As(err, &limited):
		return &refusal{http.StatusForbidden, "project_limited", err.Error(), nil}
	case errors.Is(err, session.ErrProjectNotFound):
		return &refusal{http.StatusNotFound, "project_not_found", "", nil}
	case errors.As(err, &gone):
		return &refusal{http.StatusGone, "session_deleted", err.Error(), about}
	case errors.As(err, &unknown):
		about["details"] = members{"not_asked": unknown.NotAsked}
		return &refusal{http.StatusNotFound, "session_not_found", err.Error(), about}
	case errors.Is(err, session.ErrNotFound), errors.As(err, &system):
		return &refusal{http.StatusNotFound, "session_not_found", "", about}
	case errors.As(err, &elsewhere):
		about["node_id"] = elsewhere.Owner
		return &refusal{http.StatusMisdirectedRequest, "not_owner", err.Error(), about}
	case errors.As(err, &pinned):
		about["node_id"] = pinned.Owner
		return &refusal{http.StatusConflict, pinned.Code(), err.Error(), about}
	case errors.As(err, &turns):
		return &refusal{http.StatusTooManyRequests, "backpressure", err.Error(), about}
	case errors.Is(err, session.ErrBadCursor):
		return &refusal{http.StatusBadRequest, "invalid_cursor", err.Error(), members{"after": r.URL.Query().Get("after")}}
	}
	return nil
}

func runtimeRefusals(err error, _ *http.Request) *refusal {
	var (
		unknown     *session.UnknownRuntimeError
		disabled    *operations.DisabledRuntimeError
		control     *runtime.ControlError
		unsupported *runtime.UnsupportedError
		native      *runtime.Error
	)
	var working *session.BackgroundError
	switch {
	case errors.As(err, &working):
		return &refusal{http.StatusConflict, "background_work", err.Error(), members{"session_id": working.SessionID}}
	case errors.Is(err, runtime.ErrNoBackground):
		return &refusal{http.StatusNotFound, "background_not_found", err.Error(), nil}
	case errors.As(err, &unknown):
		return &refusal{http.StatusBadRequest, "unknown_runtime", "", members{"runtime": unknown.Runtime}}
	case errors.As(err, &disabled):
		return &refusal{http.StatusConflict, "runtime_disabled", err.Error(), members{"runtime": disabled.Runtime}}
	case errors.As(err, &control) && control.Field == "nativeTools" && control.Value == runtime.NativeToolsOff:
		return &refusal{http.StatusBadRequest, "unsupported_control", fmt.Sprintf("sessions of this API have no native tools unless they "+
			"ask for them, and the %s runtime cannot be kept from its own: open the session with \"native_tools\": \"on\"",
			control.Runtime) + control.Because, members{"field": "native_tools", "runtime": control.Runtime}}
	case errors.As(err, &control):
		return &refusal{http.StatusBadRequest, "not_supported", err.Error(), members{"field": control.Field}}
	case errors.As(err, &unsupported):
		return &refusal{http.StatusConflict, "not_supported", err.Error(), nil}
	case errors.Is(err, runtime.ErrAuthRequired):
		return &refusal{http.StatusConflict, "auth_required", err.Error(), nil}
	case errors.Is(err, runtime.ErrUnavailable), errors.Is(err, runtime.ErrTimeout):
		return &refusal{http.StatusServiceUnavailable, "runtime_unavailable", err.Error(), nil}
	case errors.As(err, &native):
		return &refusal{http.StatusBadGateway, "runtime_error", native.Message, members{"runtime": native.Runtime}}
	case errors.Is(err, runtime.ErrTooLarge):
		return &refusal{http.StatusRequestEntityTooLarge, "payload_too_large", err.Error(), nil}
	case runtime.Refused(err):
		return &refusal{http.StatusBadRequest, "invalid_request", err.Error(), nil}
	}
	return nil
}
