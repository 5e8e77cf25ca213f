// Package ids generates the ids of stored objects.
//
// It owns their form, a UUID of version 7 (RFC 9562): later ids sort after earlier ones. It must never know what they
// identify.
package ids

import "github.com/google/uuid"

// New returns a new id. It panics if the system has no random numbers.
func New() string { return uuid.Must(uuid.NewV7()).String() }
