package rpc

import (
	"errors"
	"fmt"

	"harness/api/rpc/wire"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// answer builds the response to a classified error; nil is an internal error.
type answer func(*call, operations.Failure) *wire.Error

// says responds with a JSON-RPC message. saysCause responds with the message of the cause.
func says(code, message string, retryable bool) answer {
	return func(c *call, _ operations.Failure) *wire.Error {
		return failure(code, c.method.name, message, retryable)
	}
}

func saysCause(code string, retryable bool) answer {
	return func(c *call, f operations.Failure) *wire.Error {
		return failure(code, c.method.name, f.Cause.Error(), retryable)
	}
}

const (
	storeAway = "The store refuses this now; send it again later"
	timedOut  = "The runtime or the store timed out; the operation may still take effect"
)

// answers maps each code to an error code and a message. A missing code is an internal error.
var answers = map[operations.Code]answer{
	operations.CodeInvalidFolder: func(_ *call, f operations.Failure) *wire.Error {
		folder := operations.CauseOf[*session.FolderError](f)
		return &wire.Error{Code: wire.CodeInvalidParams, Message: folder.Error(), Data: struct {
			fieldData
			Code string `json:"code"`
		}{fieldData{"cwd", folder.Reason}, folder.Code()}}
	},
	operations.CodeFolderMissing: saysCause(string(operations.CodeFolderMissing), false),
	operations.CodeProjectLimited: func(_ *call, f operations.Failure) *wire.Error {
		return &wire.Error{Code: codeForbidden, Message: "Forbidden: " + f.Cause.Error()}
	},
	operations.CodeInvalid: func(_ *call, f operations.Failure) *wire.Error {
		problems := operations.CauseOf[*operations.InvalidError](f).Problems
		if len(problems) == 0 {
			return nil
		}
		first := problems[0]
		return invalidParams(first.Field, first.Message, first.Field+": "+first.Message)
	},
	operations.CodeUnsupportedControl: func(_ *call, f operations.Failure) *wire.Error {
		control := operations.CauseOf[*runtime.ControlError](f)
		return invalidParams(control.Field, control.Error(), control.Error())
	},
	operations.CodeInvalidReply: func(_ *call, f operations.Failure) *wire.Error {
		reply := operations.CauseOf[*runtime.ReplyError](f)
		return invalidParams(reply.Field, reply.Message, reply.Message)
	},
	operations.CodeUnknownRuntime: func(c *call, f operations.Failure) *wire.Error {
		return unknownAgent(operations.CauseOf[*session.UnknownRuntimeError](f).Runtime, c.method.name, c.server.agents())
	},
	operations.CodeInvalidCursor:      badCursor,
	operations.CodeUnknownAnchor:      badCursor,
	operations.CodeBackgroundWork:     saysCause("background_work", false),
	operations.CodeBackgroundNotFound: saysCause("background_not_found", false),
	operations.CodeNoChanges:          saysCause("changes_unavailable", false),
	operations.CodeTurnStateNotFound:  saysCause("turn_state_not_found", false),
	operations.CodeChangedSince:       saysCause("changed_since", false),
	operations.CodeFolderShared:       saysCause("folder_shared", false),
	operations.CodeNotUndoable:        saysCause("not_undoable", false),
	operations.CodeWorktreeNotFound:   saysCause("worktree_not_found", false),
	operations.CodeWorktreeRefused:    saysCause("worktree_refused", false),
	operations.CodeFileNotFound:       saysCause("file_not_found", false),
	operations.CodeFileRefused:        saysCause("file_not_shown", false),
	operations.CodeUnsupported:        saysCause("unsupported_by_runtime", false),
	operations.CodeRequestNotFound:    says(failedNoRequest, "No such request is pending", false),

	operations.CodeSessionDeleted: func(_ *call, f operations.Failure) *wire.Error {
		deleted := operations.CauseOf[*session.DeletedError](f)
		return &wire.Error{Code: codeSessionDeleted, Message: "Session was permanently deleted",
			Data: sessionData{SessionID: deleted.SessionID, DeletedAt: javascript.ISOTime(deleted.DeletedAt)}}
	},
	operations.CodeSessionNotFound: func(c *call, f operations.Failure) *wire.Error {
		return sessionNotFound(c.text("session_id"), f.Cause)
	},
	operations.CodeNotMaterialized:  says("not_materialized", "The session has no messages yet", false),
	operations.CodeNotOwner:         saysCause("not_owner", false),
	operations.CodeTurnLeftOpen:     saysCause("owner_unreachable", true),
	operations.CodeOwnerUnreachable: saysCause("owner_unreachable", true),
	operations.CodeOwnerAnswerLost:  saysCause("owner_answer_lost", false),
	operations.CodePinned: func(c *call, f operations.Failure) *wire.Error {
		pinned := operations.CauseOf[*session.PinnedError](f)
		return failure(pinned.Code(), c.method.name, pinned.Error(), false)
	},
	operations.CodeSystemSession:   says("system_session", "The session belongs to a worker of the server", false),
	operations.CodeProjectNotFound: says(failedWorkspace, "Workspace not found", false),
	operations.CodeDuplicateName:   says("workspace_exists", "Another workspace has this name", false),
	operations.CodeProjectNotEmpty: func(c *call, f operations.Failure) *wire.Error {
		return failure("workspace_not_empty", c.method.name, fmt.Sprintf("The workspace has %d sessions; delete them first",
			operations.CauseOf[*session.ProjectNotEmptyError](f).SessionCount), false)
	},

	operations.CodeLimitReached: saysCause("limit_reached", true),
	operations.CodeRuntimeDisabled: func(c *call, _ operations.Failure) *wire.Error {
		return c.away(failedDisabled, string(operations.RuntimeDisabled), "disabled by the operator", false)
	},
	operations.CodeRuntimeUnavailable: func(c *call, _ operations.Failure) *wire.Error {
		return c.away(failedUnavailable, string(runtime.StateUnavailable),
			"the runtime is down; the server restarts it", true)
	},
	operations.CodeTurnActive:         says("turn_active", "A turn is running", true),
	operations.CodeRuntimeTimeout:     says("timeout", timedOut, false),
	operations.CodeStoreLate:          says("timeout", timedOut, false),
	operations.CodeTooLarge:           adapterRefused,
	operations.CodeMethodNotSupported: adapterRefused,
	operations.CodeInvalidParams:      adapterRefused,
	operations.CodeAuthRequired:       adapterRefused,
	operations.CodeInvalidState:       adapterRefused,

	operations.CodeShuttingDown:    says(failedStopping, "The server is shutting down", true),
	operations.CodeStoreRefuses:    says("store_unavailable", storeAway, true),
	operations.CodeStoreUnreadable: says("store_unavailable", storeAway, true),
	operations.CodeStoreDeadline:   says("store_unavailable", storeAway, true),
	operations.CodeDeadline:        says("timeout", "The operation timed out", true),
}

func badCursor(*call, operations.Failure) *wire.Error {
	return invalidParams("cursor", "not one of this server's", "The cursor is not one of this server's")
}

// refused responds with the runtime's message. adapterRefused responds with the adapter's message.
func (c *call) refused(err error) *wire.Error {
	return failure("refused_by_runtime", c.method.name, err.Error(), false)
}

func adapterRefused(c *call, f operations.Failure) *wire.Error {
	return c.refused(errors.New(f.Message))
}
