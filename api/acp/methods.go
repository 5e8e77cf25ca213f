package acp

import (
	"context"

	"harness/internal/runtime/acp/words"
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
	// notifies means that the client sends it as a notification; opens, that later messages wait for its end.
	notifies, opens bool
}

// table lists the methods of the protocol that this door knows.
func table() []method {
	const login = "the token of the connection is the login; a runtime is logged in on the server"
	return []method{
		{name: words.Initialize, role: roleViewer, handle: initialize},
		{name: words.New, role: roleOperator, handle: newSession, opens: true},
		{name: words.Load, role: roleViewer, handle: loadSession, opens: true},
		{name: words.Resume, role: roleViewer, handle: resumeSession, opens: true},
		{name: words.List, role: roleViewer, handle: listSessions},
		{name: words.Fork, role: roleOperator, handle: forkSession, opens: true},
		{name: words.Delete, role: roleOperator, handle: deleteSession},
		{name: words.Close, role: roleViewer, handle: closeSession},
		{name: words.Prompt, role: roleOperator, handle: promptSession},
		{name: words.Cancel, role: roleOperator, handle: cancelSession, notifies: true},
		{name: words.SetMode, role: roleOperator, handle: setMode},
		{name: words.SetOption, role: roleOperator, handle: setOption},

		{name: words.Login, refused: login},
		{name: words.Logout, refused: login},
		{name: words.SetModel, refused: "the model is the option model"},
	}
}
