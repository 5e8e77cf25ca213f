package appserver

import "harness/api/door"

// protocol names the protocol in records.
const protocol = "app-server"

// form is the form of messages. The protocol has no member jsonrpc.
const form = door.Words("")

// object is an object of the protocol whose members are few or optional.
type object = map[string]any
