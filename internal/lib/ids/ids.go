// Package ids makes the ids of what the server stores.
//
// It owns their form, a UUID of version 7 (RFC 9562): later ids sort after earlier ones. It must never know what they name.
package ids

import "github.com/google/uuid"

// New returns a new id. It panics when the system has no random numbers.
func New() string { return uuid.Must(uuid.NewV7()).String() }
