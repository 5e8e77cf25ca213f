package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MaxID is the length in bytes up to which a runtime's id is stored unchanged. Ids are part of indexes, and Postgres
// limits an index row to 2704 bytes.
const MaxID = 512

// longID begins every id that stands for a longer one.
const longID = "id-sha256-"

// KnownID is the id under which a runtime's id is stored: itself, or a fixed substitute of 74 characters if it is too
// long. Adapters report the stored id and send the runtime its own.
func KnownID(native string) string {
	if len(native) <= MaxID {
		return native
	}
	sum := sha256.Sum256([]byte(native))
	return longID + hex.EncodeToString(sum[:])
}

// StandsForLonger reports whether KnownID made this id.
func StandsForLonger(id string) bool { return strings.HasPrefix(id, longID) }
