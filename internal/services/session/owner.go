package session

import (
	"encoding/json"
	"fmt"

	"harness/internal/platform/journal"
	"harness/internal/runtime"
)

// NotOwnerError refuses what only the session's own node can do, the one whose runtime has the conversation. Nothing
// was changed.
type NotOwnerError struct {
	SessionID string
	// Owner is the id of the node that owns the session, Node that of the one that was asked.
	Owner, Node string
	// Folder is set when it is not the session that is Owner's but its folder, which went on there with another one.
	Folder string
}

// Error implements error.
func (e *NotOwnerError) Error() string {
	if e.Folder != "" {
		return fmt.Sprintf("the folder of session %s, %s, went on at node %s with another session, and this is node %s; nothing was "+
			"changed. Send the request to the server whose DATA_DIR/node-id says %s", e.SessionID, e.Folder, e.Owner, e.Node, e.Owner)
	}
	return fmt.Sprintf(
		"session %s belongs to node %s and this is node %s; nothing was changed. Send the request to the server whose "+
			"DATA_DIR/node-id says %s. If that node is gone for good, restart this one once with HARNESS_ADOPT_NODES=%s to take its sessions",
		e.SessionID, e.Owner, e.Node, e.Owner, e.Owner)
}

// DoneBy is the node that does it.
func (e *NotOwnerError) DoneBy() string { return e.Owner }

// ElsewhereError refuses what this node does not do and others may: sessions at a node that makes none, and what needs an
// agent where none runs. Nothing was changed. It is runtime.ErrUnavailable.
type ElsewhereError struct {
	// Node is the id of the node that was asked, Why says why it does not do it, and what to do.
	Node, Why string
}

// Error implements error.
func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("%v: node %s %s", runtime.ErrUnavailable, e.Node, e.Why)
}

// Unwrap makes it runtime.ErrUnavailable.
func (e *ElsewhereError) Unwrap() error { return runtime.ErrUnavailable }

// DoneBy is "": any node that makes sessions may do it.
func (e *ElsewhereError) DoneBy() string { return "" }

// NoRuntimes is why a node without agents does nothing that needs one, after its name.
const NoRuntimes = "runs no agents (HARNESS_ROLES), and no node that does can be asked now: harness nodes list shows which have " +
	"the role runner, and whether they live; start one with HARNESS_NODE_ADDRESS"

// TakenError says that another node took a session while its runtime was being asked: what that did is not stored.
type TakenError struct {
	SessionID string
	// Node is the one that was asked.
	Node string
}

// Error implements error.
func (e *TakenError) Error() string {
	return fmt.Sprintf("session %s was taken from node %s by another one while that was silent; the message is not stored. "+
		"Look at the session, and send it again", e.SessionID, e.Node)
}

// Unwrap makes it an answer that is worth another try.
func (e *TakenError) Unwrap() error { return runtime.ErrUnavailable }

// EventTaken reports that a session goes on at another node; it shows no frame.
const EventTaken = "session.taken"

// Taking reports what an event says of a session that goes on at another node: whose it was, and whose it is.
func Taking(event *journal.Event) (from, by string, is bool) {
	if event.Type != EventTaken {
		return "", "", false
	}
	var stored struct{ From, By string }
	err := json.Unmarshal(event.Payload, &stored)
	return stored.From, stored.By, err == nil
}

// PinnedError refuses to take a session whose node is gone: it could not go on here as it was. Nothing was changed.
type PinnedError struct {
	SessionID, Owner string
	// Memory says that it is what the runtime remembers that is missing here, and not the session's folder.
	Memory bool
	Reason string
}

// Error implements error.
func (e *PinnedError) Error() string {
	return fmt.Sprintf("session %s cannot go on at this node: %s. It waits for node %s: start that one's server again; "+
		"nothing was changed", e.SessionID, e.Reason, e.Owner)
}

// Code names it for programs.
func (e *PinnedError) Code() string {
	if e.Memory {
		return "memory_pinned"
	}
	return "workspace_pinned"
}

// LeftOpenError refuses to take a session in which a turn may still go on at its node, which does not answer.
type LeftOpenError struct{ SessionID, Owner string }

// Error implements error.
func (e *LeftOpenError) Error() string {
	return fmt.Sprintf("node %s does not answer, and a turn it ran in session %s is not ended yet: ask again, it is when that "+
		"node's grace (HARNESS_NODE_GRACE_MS) is over, or its server back; nothing was done", e.Owner, e.SessionID)
}
