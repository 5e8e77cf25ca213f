package audit

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/note"

	"harness/internal/platform/database"
)

// Verdict is the result of a check of the whole log.
type Verdict struct {
	// Rows is the number of rows, Checkpoints the number of valid checkpoints, Signed the row up to which the last of
	// them is valid.
	Rows, Checkpoints, Signed int64
	// Faults describe what is wrong and where; empty if the log is intact.
	Faults []string
}

// maxFaults bounds the list: rows after a break are not reported one by one.
const maxFaults = 100

// Verify checks the complete log: every row exists and is unchanged, and the chain reaches as far as it was signed.
// keys signed the checkpoints.
func Verify(ctx context.Context, q database.Querier, keys note.Verifiers) (Verdict, error) {
	v := Verdict{}
	fault := func(format string, args ...any) {
		if len(v.Faults) < maxFaults {
			v.Faults = append(v.Faults, fmt.Sprintf(format, args...))
		}
	}
	signed, last, err := checkpoints(ctx, q, keys, fault)
	if err != nil {
		return v, err
	}
	err = Each(ctx, q, "", func(row Row) error {
		v.Rows++
		if row.Seq != last.Seq+1 {
			if row.Seq == last.Seq+2 {
				fault("row %d was removed", last.Seq+1)
			} else {
				fault("rows %d to %d were removed", last.Seq+1, row.Seq-1)
			}
		} else if row.seal(last.Hash) != row.Hash {
			fault("row %d (%s of session %q, by %q) was changed, or the one before it", row.Seq, row.Kind,
				row.SessionID, row.Actor)
		}
		if hash, is := signed[row.Seq]; is {
			if hash != row.Hash {
				fault("row %d is another than the one that was signed", row.Seq)
			} else {
				v.Checkpoints, v.Signed = v.Checkpoints+1, row.Seq
			}
			delete(signed, row.Seq)
		}
		last = row
		return nil
	})
	for seq := range signed {
		if seq > last.Seq {
			fault("the log ends with row %d, and row %d was signed: its tail was cut off", last.Seq, seq)
		}
	}
	return v, err
}
