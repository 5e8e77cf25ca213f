package transcript

import (
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"harness/internal/platform/database"
)

// TypeDamaged is the type of an entry that is not as it was written: readers are shown that it is, and where, and never
// what its row says now.
const TypeDamaged = "damaged"

// errDamaged says that what is stored of an entry is not what was written.
var errDamaged = errors.New("what is stored of the entry is damaged")

// damaged is what readers are shown in place of an entry that is not as it was written.
func (e Entry) damaged() Entry {
	e.Role, e.Type, e.Details, e.Source, e.Status = "system", TypeDamaged, nil, nil, Failed
	e.Content = damagedText
	return e
}

const damagedText = "What this entry said is damaged in the database of the server. " +
	"Its administrator finds the row with harness doctor --scrub, and the text in a backup."

func checksumOf(text string) database.Checksum { return database.Checksum(0).Add(text) }

// openEntry decodes what StoredEntry selects. errDamaged when it does not have the checksum that was kept of it.
func openEntry(stored string, kept sql.NullInt64) (Entry, error) {
	encoded, err := openStored(stored, kept)
	if err != nil {
		return Entry{}, err
	}
	return decodeEntry(encoded)
}

// openStored is the JSON of the entry in what StoredEntry selects.
func openStored(stored string, kept sql.NullInt64) (string, error) {
	if kept.Valid {
		if sum, _ := database.Checksums(kept.Int64); sum != checksumOf(stored) {
			return "", errDamaged
		}
	}
	return cutEntry(stored), nil
}

// openChecked is the entry in what CheckedEntry selects.
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
