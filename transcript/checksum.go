package transcript

import (
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"harness/internal/platform/database"
)

// TypeDamaged is the type of an entry whose row changed since it was written. Readers see that it is damaged, and
// where, but never the row's present content.
const TypeDamaged = "damaged"

// errDamaged means that an entry's row differs from what was written.
var errDamaged = errors.New("what is stored of the entry is damaged")

// damaged returns the entry that readers see in place of a damaged one.
func (e Entry) damaged() Entry {
	e.Role, e.Type, e.Details, e.Source, e.Status = "system", TypeDamaged, nil, nil, Failed
	e.Content = damagedText
	return e
}

const damagedText = "What this entry said is damaged in the database of the server. " +
	"Its administrator finds the row with harness doctor --scrub, and the text in a backup."

func checksumOf(text string) database.Checksum { return database.Checksum(0).Add(text) }

// openEntry decodes the value of StoredEntry. It returns errDamaged if the value does not match the stored checksum.
func openEntry(stored string, kept sql.NullInt64) (Entry, error) {
	encoded, err := openStored(stored, kept)
	if err != nil {
		return Entry{}, err
	}
	return decodeEntry(encoded)
}

// openStored returns the JSON of the entry in the value of StoredEntry.
func openStored(stored string, kept sql.NullInt64) (string, error) {
	if kept.Valid {
		if sum, _ := database.Checksums(kept.Int64); sum != checksumOf(stored) {
			return "", errDamaged
		}
	}
	return cutEntry(stored), nil
}

// openChecked returns the entry in the value of CheckedEntry.
func openChecked(checked string) (Entry, error) {
	sum, stored, _ := strings.Cut(checked, " ")
	var kept sql.NullInt64
	if sum != "" {
		var err error
		if kept.Int64, err = strconv.ParseInt(sum, 10, 64); err != nil {
			return Entry{}, errDamaged
		}
		kept.Valid = true
	}
	return openEntry(stored, kept)
}
