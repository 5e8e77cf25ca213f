package session

import (
	"strings"

	"harness/internal/runtime"
)

// AgentSession is a worker session that acts for an owner.
type AgentSession struct {
	Agent     string
	SessionID string
}

// ownOwner is the prefix of the owner id of a session outside projects.
const ownOwner = "session:"

// Owner returns the owner of the session's jobs and workers: its project, or the session itself.
func (s Session) Owner() string {
	if s.ProjectID != nil {
		return *s.ProjectID
	}
	return ownOwner + s.ID
}

// IsSession reports whether an owner is a session outside projects.
func IsSession(owner string) bool { return strings.HasPrefix(owner, ownOwner) && owner != ownOwner }

// Resume returns the conversation's identity for its runtime.
func (s Session) Resume() runtime.ResumeThread {
	return runtime.ResumeThread{ThreadID: s.ID, NativeID: s.RuntimeSessionID}
}

// DraftTitle is the title that a worker session has in its runtime until its owner is known. After a crash, the title
// identifies such a session, so that no client sees it as a chat.
const DraftTitle = "Harness worker (starting)"
