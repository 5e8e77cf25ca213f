package appserver

import (
	"context"

	"harness/internal/runtime/wire"
)

// role is the role that a caller needs for a method.
type role string

const (
	roleViewer   role = "viewer"
	roleOperator role = "operator"
)

// method is one row of the table. Dispatch, roles and the count of refused methods use it. A row without handle is
// refused, with a reason.
type method struct {
	name    string
	role    role
	handle  func(ctx context.Context, c *call) (any, error)
	refused string
}

// Names of methods that the code needs besides the table, and of notifications.
const (
	methodInitialize = "initialize"

	noticeWarning  = wire.MethodWarning
	noticeStatus   = "thread/status/changed"
	noticeSettings = "thread/settings/updated"
	noticeStarted  = wire.MethodThreadStarted
)

// always returns a handler with a fixed result.
func always(result any) func(context.Context, *call) (any, error) {
	return func(context.Context, *call) (any, error) { return result, nil }
}

// table lists the methods of the protocol that this door knows.
func table() []method {
	none := object{"data": []any{}}
	onMachine := "it acts on the machine, not on a session"
	return []method{
		{name: methodInitialize, role: roleViewer, handle: initialize},
		{name: "account/read", role: roleViewer, handle: always(object{"account": nil, "requiresOpenaiAuth": false})},
		{name: "model/list", role: roleViewer, handle: listModels},
		{name: "config/read", role: roleViewer, handle: always(object{"config": object{}, "origins": object{}})},
		{name: "configRequirements/read", role: roleViewer, handle: always(object{"requirements": nil})},
		{name: "thread/start", role: roleOperator, handle: startThread},
		{name: "thread/read", role: roleViewer, handle: readThread},
		{name: "thread/resume", role: roleViewer, handle: resumeThread},
		{name: "thread/turns/list", role: roleViewer, handle: listTurns},
		{name: "thread/items/list", role: roleViewer, handle: listItems},
		{name: "turn/start", role: roleOperator, handle: startTurn},
		{name: "turn/steer", role: roleOperator, handle: steerTurn},
		{name: "turn/interrupt", role: roleOperator, handle: interruptTurn},
		{name: "thread/compact/start", role: roleOperator, handle: compact},
		{name: "thread/fork", role: roleOperator, handle: fork},
		{name: "review/start", role: roleOperator, handle: review},
		{name: "thread/list", role: roleViewer, handle: listThreads},
		{name: "thread/loaded/list", role: roleViewer, handle: listLoaded},
		{name: "thread/name/set", role: roleOperator, handle: setName},
		{name: "thread/unsubscribe", role: roleViewer, handle: unsubscribe},
		{name: "thread/settings/update", role: roleOperator, handle: updateSettings},
		{name: "thread/readState/update", role: roleViewer, handle: updateReadState},
		{name: "thread/archive", role: roleOperator, handle: archive},
		{name: "thread/unarchive", role: roleOperator, handle: unarchive},
		{name: "thread/delete", role: roleOperator, handle: deleteThread},
		{name: "skills/list", role: roleViewer, handle: always(none)},
		{name: "hooks/list", role: roleViewer, handle: always(none)},
		{name: "collaborationMode/list", role: roleViewer, handle: always(none)},
		{name: "thread/backgroundTerminals/list", role: roleViewer, handle: always(none)},
		{name: "plugin/installed", role: roleViewer, handle: always(object{"marketplaces": []any{}, "marketplaceLoadErrors": []any{}})},
		{name: "thread/goal/get", role: roleViewer, handle: always(object{"goal": nil})},
		{name: "account/bedrock/checkGovCloudRequirements", role: roleViewer,
			handle: always(object{"isGovCloud": false, "shouldWarn": false})},

		{name: "config/batchWrite", refused: "the server keeps no defaults of yours"},
		{name: "config/value/write", refused: "the server keeps no defaults of yours"},
		{name: "permissionProfile/list", refused: "levels are chosen at the start, with -s and -a"},
		{name: "mcpServerStatus/list", refused: "a runtime's own servers are not shown here"},
		{name: "thread/goal/set", refused: "a session has no goal here"},
		{name: "thread/metadata/update", refused: "the metadata of a session are its own"},
		{name: "thread/shellCommand", refused: onMachine},
		{name: "thread/inject_items", refused: "a transcript is what was said"},
		{name: "thread/approveGuardianDeniedAction", refused: "requests are decided by people"},
		{name: "command/exec", refused: onMachine},
		{name: "account/login/start", refused: "log in with a token of the server"},
		{name: "account/logout", refused: "log in with a token of the server"},
	}
}
