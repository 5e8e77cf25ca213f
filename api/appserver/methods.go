package appserver

import (
	"context"

	"harness/api/door"
	"harness/internal/runtime/wire"
)

// method is one row of the table. Dispatch, roles and the count of refused methods use it. A row without handle is
// refused, with a reason.
type method struct {
	name    string
	role    door.Role
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
		{name: methodInitialize, role: door.RoleViewer, handle: initialize},
		{name: "account/read", role: door.RoleViewer, handle: always(object{"account": nil, "requiresOpenaiAuth": false})},
		{name: "model/list", role: door.RoleViewer, handle: listModels},
		{name: "config/read", role: door.RoleViewer, handle: readConfig},
		{name: "configRequirements/read", role: door.RoleViewer, handle: always(object{"requirements": nil})},
		{name: "thread/start", role: door.RoleOperator, handle: startThread},
		{name: "thread/read", role: door.RoleViewer, handle: readThread},
		{name: "thread/resume", role: door.RoleViewer, handle: resumeThread},
		{name: "thread/turns/list", role: door.RoleViewer, handle: listTurns},
		{name: "thread/items/list", role: door.RoleViewer, handle: listItems},
		{name: "turn/start", role: door.RoleOperator, handle: startTurn},
		{name: "turn/steer", role: door.RoleOperator, handle: steerTurn},
		{name: "turn/interrupt", role: door.RoleOperator, handle: interruptTurn},
		{name: "thread/compact/start", role: door.RoleOperator, handle: compact},
		{name: "thread/fork", role: door.RoleOperator, handle: fork},
		{name: "review/start", role: door.RoleOperator, handle: review},
		{name: "thread/list", role: door.RoleViewer, handle: listThreads},
		{name: "thread/loaded/list", role: door.RoleViewer, handle: listLoaded},
		{name: "thread/name/set", role: door.RoleOperator, handle: setName},
		{name: "thread/unsubscribe", role: door.RoleViewer, handle: unsubscribe},
		{name: "thread/settings/update", role: door.RoleOperator, handle: updateSettings},
		{name: "thread/readState/update", role: door.RoleViewer, handle: updateReadState},
		{name: "thread/archive", role: door.RoleOperator, handle: archive},
		{name: "thread/unarchive", role: door.RoleOperator, handle: unarchive},
		{name: "thread/delete", role: door.RoleOperator, handle: deleteThread},
		{name: "skills/list", role: door.RoleViewer, handle: always(none)},
		{name: "hooks/list", role: door.RoleViewer, handle: always(none)},
		{name: "collaborationMode/list", role: door.RoleViewer, handle: always(none)},
		{name: "thread/backgroundTerminals/list", role: door.RoleViewer, handle: always(none)},
		{name: "plugin/installed", role: door.RoleViewer, handle: always(object{"marketplaces": []any{}, "marketplaceLoadErrors": []any{}})},
		{name: "thread/goal/get", role: door.RoleViewer, handle: always(object{"goal": nil})},
		{name: "account/bedrock/checkGovCloudRequirements", role: door.RoleViewer,
			handle: always(object{"isGovCloud": false, "shouldWarn": false})},

		{name: "config/batchWrite", refused: "the server has no defaults per user"},
		{name: "config/value/write", refused: "the server has no defaults per user"},
		{name: "permissionProfile/list", refused: "levels are chosen at the start, with -s and -a"},
		{name: "mcpServerStatus/list", refused: "a runtime's own servers are not shown here"},
		{name: "thread/goal/set", refused: "a session has no goal here"},
		{name: "thread/metadata/update", refused: "the metadata of a session are its own"},
		{name: "thread/shellCommand", refused: onMachine},
		{name: "thread/inject_items", refused: "a transcript cannot be changed"},
		{name: "thread/approveGuardianDeniedAction", refused: "requests are decided by people"},
		{name: "command/exec", refused: onMachine},
		{name: "account/login/start", refused: "sign in with a token of the server"},
		{name: "account/logout", refused: "sign in with a token of the server"},
	}
}
