package api

import (
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/runtime"
)

// refused is a classified error and the request that caused it.
type refused struct {
	operations.Failure
	err error
	rt  *rest.Route
	in  *rest.Input
}

// says responds with a status, a code and the error's message. saysCause uses only the message of the cause.
func says(status int, code string) func(refused) rest.Failure {
	return func(a refused) rest.Failure { return rest.Problem(status, code, a.Message) }
}

func saysCause(status int, code string) func(refused) rest.Failure {
	return func(a refused) rest.Failure { return rest.Problem(status, code, a.Cause.Error()) }
}

// text responds with a message that REST defines.
func text(status int, code, message string) func(refused) rest.Failure {
	return func(refused) rest.Failure { return rest.Problem(status, code, message) }
}

// field reports an invalid member of the request.
func field(name string) func(refused) rest.Failure {
	return func(a refused) rest.Failure { return rest.Invalid(schema.Custom(a.Cause.Error(), name)) }
}

// answers maps each code to a status and a body. A missing code is an internal error.
var answers = map[operations.Code]func(refused) rest.Failure{
	operations.CodeProjectLimited: saysCause(http.StatusForbidden, "project_limited"),
	operations.CodeInvalid: func(a refused) rest.Failure {
		return rest.Invalid(fields(operations.CauseOf[*operations.InvalidError](a.Failure))...)
	},
	operations.CodeInvalidParts: saysCause(http.StatusBadRequest, "invalid_request"),
	operations.CodeInvalidReply: func(a refused) rest.Failure {
		reply := operations.CauseOf[*runtime.ReplyError](a.Failure)
		return rest.Invalid(schema.Custom(reply.Message, reply.Field))
	},
	operations.CodeRuntimeDisabled: saysCause(http.StatusConflict, "runtime_disabled"),
	operations.CodeUnknownRuntime:  field("runtime"),
	operations.CodeInvalidTools:    field("dynamicTools"),
	operations.CodeInvalidSettings: field("settings"),
	operations.CodeInvalidCursor: func(refused) rest.Failure {
		return rest.Invalid(schema.Custom("Invalid cursor", "cursor"))
	},
	operations.CodeUnknownAnchor:    unknownAnchor,
	operations.CodeOwnerUnreachable: says(http.StatusServiceUnavailable, "owner_unreachable"),
	operations.CodeTurnLeftOpen:     saysCause(http.StatusServiceUnavailable, "owner_unreachable"),
	operations.CodeOwnerAnswerLost:  saysCause(http.StatusGatewayTimeout, "owner_answer_lost"),
	operations.CodeEntryNotFound:    entryNotFound,

	operations.CodeStoreLate: func(a refused) rest.Failure {
		return rest.Problem(http.StatusGatewayTimeout, "store_unavailable", outageOf(a.err)+
			"; the runtime carried out the request, and the result is stored once the store accepts writes again: do not send it again")
	},
	operations.CodeStoreRefuses: func(a refused) rest.Failure {
		return rest.Problem(http.StatusServiceUnavailable, "store_unavailable",
			outageOf(a.err)+"; send the request again when it does")
	},
	operations.CodeStoreUnreadable: func(a refused) rest.Failure {
		return rest.Problem(http.StatusServiceUnavailable, "store_unavailable", "the store cannot be read: "+
			database.Reason(a.err)+"; send the request again later")
	},
	operations.CodeShuttingDown: text(http.StatusServiceUnavailable, "shutting_down",
		"the server is shutting down; send the request again to another or a later one"),

	operations.CodeSessionDeleted:  sessionDeleted,
	operations.CodeNotOwner:        notOwner,
	operations.CodePinned:          pinned,
	operations.CodeInvalidFolder:   folderFailure,
	operations.CodeFolderMissing:   folderFailure,
	operations.CodeSystemSession:   systemSession,
	operations.CodeSessionNotFound: unknownSession,
	operations.CodeNotMaterialized: func(a refused) rest.Failure {
		return stateOfSession("not_materialized", a.in)
	},

	operations.CodeUnknownProject:  unknownProject,
	operations.CodeProjectNotFound: projectNotFound,
	operations.CodeDuplicateName:   duplicateName,
	operations.CodeProjectNotEmpty: projectNotEmpty,
	operations.CodeEmptySessions:   emptySessions,

	operations.CodeQueuedNotFound: says(http.StatusNotFound, "not_found"),
	operations.CodeQueuedDamaged:  says(http.StatusConflict, "damaged"),
	operations.CodeQueuedSent:     says(http.StatusConflict, "invalid_state"),
	operations.CodeQueueFull:      says(http.StatusTooManyRequests, "queue_full"),

	operations.CodeJobsOff:           jobsOff,
	operations.CodeJobNotFound:       jobNotFound,
	operations.CodeJobNotOver:        jobNotOver,
	operations.CodeJobOver:           jobOver,
	operations.CodeJobRefused:        jobRefused,
	operations.CodeMissingSuggestion: missingSuggestion,

	operations.CodeNotRetryable:       notRetryable,
	operations.CodeBackgroundWork:     backgroundWork,
	operations.CodeBackgroundNotFound: says(http.StatusNotFound, "background_not_found"),
	operations.CodeNoChanges:          says(http.StatusConflict, "changes_unavailable"),
	operations.CodeNoLines:            says(http.StatusUnprocessableEntity, "lines_unavailable"),
	operations.CodeTurnStateNotFound:  says(http.StatusNotFound, "turn_state_not_found"),
	operations.CodeChangedSince:       says(http.StatusConflict, "changed_since"),
	operations.CodeFolderShared:       says(http.StatusConflict, "folder_shared"),
	operations.CodeNotUndoable:        says(http.StatusConflict, "not_undoable"),
	operations.CodeWorktreeNotFound:   says(http.StatusNotFound, "worktree_not_found"),
	operations.CodeWorktreeRefused:    says(http.StatusConflict, "worktree_refused"),
	operations.CodeFileNotFound:       says(http.StatusNotFound, "file_not_found"),
	operations.CodeFileRefused:        says(http.StatusConflict, "file_not_shown"),
	operations.CodeNoActiveTurn: func(a refused) rest.Failure {
		return stateOfSession("no_active_turn", a.in)
	},
	operations.CodeAlreadyResolved: notPending,
	operations.CodeRequestNotFound: notPending,
	operations.CodeRequestGone:     notPending,

	operations.CodeLimitReached:       limitReached,
	operations.CodeUnsupported:        unsupported,
	operations.CodeUnsupportedControl: unsupportedControl,
	operations.CodeRuntimeUnavailable: says(http.StatusServiceUnavailable, "runtime_unavailable"),
	operations.CodeRuntimeTimeout:     timedOut,
	operations.CodeDeadline:           timedOut,
	operations.CodeStoreDeadline:      timedOut,
	operations.CodeRuntimeRefused:     refusalFailure,
	operations.CodeTurnActive:         says(http.StatusConflict, "turn_active"),
	operations.CodeTooLarge:           says(http.StatusRequestEntityTooLarge, "too_large"),
	operations.CodeMethodNotSupported: adapterRefused,
	operations.CodeInvalidParams:      adapterRefused,
	operations.CodeAuthRequired:       adapterRefused,
	operations.CodeInvalidState:       adapterRefused,
	operations.CodeProviderTimeout:    adapterRefused,
}

// fields converts the problems of a refused operation into validation issues.
func fields(e *operations.InvalidError) []schema.Issue {
	issues := make([]schema.Issue, len(e.Problems))
	for i, problem := range e.Problems {
		path := []any{problem.Field}
		if problem.Index >= 0 {
			path = append(path, problem.Index)
		}
		issues[i] = schema.Custom(problem.Message, path...)
	}
	return issues
}
