package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MaxID is how long (bytes) an id of a runtime may be to be stored as it is: it becomes part of indexes together with a
// session's, and Postgres takes 2704 bytes for an index row.
const MaxID = 512

// longID begins every id that stands for a longer one.
const longID = "id-sha256-"

// KnownID is what an id of a runtime is known by here, whatever it names: itself, or when it is too long one of 74
// characters that stands for it, always the same. Adapters report by it and give the runtime its own id back.
func KnownID(native string) string {
	if len(native) <= MaxID {
		return native
	}
	sum := sha256.Sum256([]byte(native))
	return longID + hex.EncodeToString(sum[:])
}

// StandsForLonger reports whether an id is one that KnownID made.
func StandsForLonger(id string) bool { return strings.HasPrefix(id, longID) }
