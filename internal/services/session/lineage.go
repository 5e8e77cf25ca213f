package session

import (
	"errors"
	"fmt"
	"time"
)

// EventStartedBySession is the type of the event of a session that another session started.
const EventStartedBySession = "session.started_by_session"

// Lineage is the origin of a session that another session started.
type Lineage struct {
	SessionID string `json:"sessionId"`
	ParentID  string `json:"parentId"`
	// RootID is the first session of the tree, which a client opened. Depth is 1 below it.
	RootID string `json:"rootId"`
	Depth  int    `json:"depth"`
	// TurnID is the parent's turn that started the session, "" for none.
	TurnID string `json:"startedByTurn"`
	// Key and Request identify the request among those of the parent.
	Key, Request string `json:"-"`
}

// TreeLimitError refuses a start or a message between sessions. Nothing changed.
type TreeLimitError struct {
	// Reason names the limit.
	Reason string
	// RetryAfter is when the limit allows more, 0 if that depends on other changes.
	RetryAfter time.Duration
}

// Error implements error.
func (e *TreeLimitError) Error() string { return e.Reason }

// WiderThanParentError refuses a session with more rights than the session that starts it.
type WiderThanParentError struct{ Field, Requested, Parent string }

// Error implements error.
func (e *WiderThanParentError) Error() string {
	return fmt.Sprintf("%s %q is wider than the parent session's %q", e.Field, e.Requested, e.Parent)
}

// ErrKeyReused means that an earlier request of the session used the key with other content.
var ErrKeyReused = errors.New("the key was used for another request; use a new key for every request")
