package session

import (
	"encoding/json"
	"fmt"

	"harness/internal/platform/journal"
	"harness/internal/runtime"
)

// NotOwnerError refuses an operation that only the session's owner node can do, because its runtime has the
// conversation. Nothing changed.
type NotOwnerError struct {
	SessionID string
	// Owner is the id of the node that owns the session; Node is the id of the node that refused.
	Owner, Node string
	// Folder is set if Owner owns the session's folder, which moved there with another session, but not the session.
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

// DoneBy returns the node that can do the operation.
func (e *NotOwnerError) DoneBy() string { return e.Owner }

// ElsewhereError refuses an operation that this node does not do but other nodes may: creating sessions, or work that
// needs an agent. Nothing changed. It wraps runtime.ErrUnavailable.
type ElsewhereError struct {
	// Node is the id of the node that refused; Why is the reason and the remedy.
	Node, Why string
}

// Error implements error.
func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("%v: node %s %s", runtime.ErrUnavailable, e.Node, e.Why)
}

// Unwrap returns runtime.ErrUnavailable.
func (e *ElsewhereError) Unwrap() error { return runtime.ErrUnavailable }

// DoneBy returns "": any node that creates sessions may do it.
func (e *ElsewhereError) DoneBy() string { return "" }

// NoRuntimes is the reason for a node without agents; it follows the node's name.
const NoRuntimes = "runs no agents (HARNESS_ROLES), and no node that does can be asked now: harness nodes list shows which have " +
	"the role runner, and whether they live; start one with HARNESS_NODE_ADDRESS"

// TakenError means that another node took over a session during a call to its runtime. The result is not stored.
type TakenError struct {
	SessionID string
	// Node is the node that made the call.
	Node string
}

// Error implements error.
func (e *TakenError) Error() string {
	return fmt.Sprintf("session %s was taken from node %s by another one while that was silent; the message is not stored. "+
		"Look at the session, and send it again", e.SessionID, e.Node)
}

// Unwrap returns runtime.ErrUnavailable, which marks the error as retryable.
func (e *TakenError) Unwrap() error { return runtime.ErrUnavailable }

// EventTaken records that a session moved to another node; clients receive no frame for it.
const EventTaken = "session.taken"

// Taking returns the old and the new owner from the event of a session that moved to another node.
func Taking(event *journal.Event) (from, by string, is bool) {
	if event.Type != EventTaken {
		return "", "", false
	}
	var stored struct{ From, By string }
	err := json.Unmarshal(event.Payload, &stored)
	return stored.From, stored.By, err == nil
}

// PinnedError refuses to take over a session of a dead node, because its state is missing here. Nothing changed.
type PinnedError struct {
	SessionID, Owner string
	// Memory reports that the runtime's state is missing, not the session's folder.
	Memory bool
	Reason string
}

// Error implements error.
func (e *PinnedError) Error() string {
	return fmt.Sprintf("session %s cannot continue at this node: %s. It needs node %s: start its server again; "+
		"nothing was changed", e.SessionID, e.Reason, e.Owner)
}

// Code returns the machine-readable code of the error.
func (e *PinnedError) Code() string {
	if e.Memory {
		return "memory_pinned"
	}
	return "workspace_pinned"
}

// LeftOpenError refuses a takeover while a turn of the session may still run at its unresponsive node.
type LeftOpenError struct{ SessionID, Owner string }

// Error implements error.
func (e *LeftOpenError) Error() string {
	return fmt.Sprintf("node %s does not answer, and a turn it ran in session %s is not ended yet: ask again, it is when that "+
		"node's grace (HARNESS_NODE_GRACE_MS) is over, or its server back; nothing was done", e.Owner, e.SessionID)
}
