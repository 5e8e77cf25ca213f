package acp

import (
	"context"

	"harness/api/door"
	"harness/internal/runtime/acp/words"
)

// method is one row of the table. Dispatch, roles and the count of refused methods use it. A row without handle is
// refused, with a reason.
type method struct {
	name    string
	role    door.Role
	handle  func(ctx context.Context, c *call) (any, error)
	refused string
	// notifies means that the client sends it as a notification; opens, that later messages wait for its end.
	notifies, opens bool
}

// table lists the methods of the protocol that this door knows.
func table() []method {
	const login = "the connection's token is the sign-in; runtimes sign in on the server"
	return []method{
		{name: words.Initialize, role: door.RoleViewer, handle: initialize},
		{name: words.New, role: door.RoleOperator, handle: newSession, opens: true},
		{name: words.Load, role: door.RoleViewer, handle: loadSession, opens: true},
		{name: words.Resume, role: door.RoleViewer, handle: resumeSession, opens: true},
		{name: words.List, role: door.RoleViewer, handle: listSessions},
		{name: words.Fork, role: door.RoleOperator, handle: forkSession, opens: true},
		{name: words.Delete, role: door.RoleOperator, handle: deleteSession},
		{name: words.Close, role: door.RoleViewer, handle: closeSession},
		{name: words.Prompt, role: door.RoleOperator, handle: promptSession},
		{name: words.Cancel, role: door.RoleOperator, handle: cancelSession, notifies: true},
		{name: words.SetMode, role: door.RoleOperator, handle: setMode},
		{name: words.SetOption, role: door.RoleOperator, handle: setOption},

		{name: words.Login, refused: login},
		{name: words.Logout, refused: login},
		{name: words.SetModel, refused: "the model is the option model"},
	}
}
