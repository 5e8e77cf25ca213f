package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MaxID is the maximum length in bytes of a runtime id that is stored unchanged. Indexes contain these ids, and
// Postgres limits an index row to 2704 bytes.
const MaxID = 512

// longID is the prefix of every id that replaces a longer one.
const longID = "id-sha256-"

// KnownID returns the id under which a runtime's id is stored: the id itself, or a fixed substitute of 74 characters
// if it is too long. Adapters report the stored id to the server and send the native one to the runtime.
func KnownID(native string) string {
	if len(native) <= MaxID {
		return native
	}
	sum := sha256.Sum256([]byte(native))
	return longID + hex.EncodeToString(sum[:])
}

// StandsForLonger reports whether KnownID created this id.
func StandsForLonger(id string) bool { return strings.HasPrefix(id, longID) }
