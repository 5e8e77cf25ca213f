package acp

import "harness/api/door"

// Error codes of the protocol beside those of all doors.
const (
	codeParse    = -32700
	codeLogin    = -32000
	codeNotFound = -32002
)

// protocol names the protocol in records.
const protocol = "acp"

// form is the form of messages: JSON-RPC 2.0.
const form = door.Words("2.0")

// object is an object of the protocol whose members are few or optional.
type object = map[string]any
