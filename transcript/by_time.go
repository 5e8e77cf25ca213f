package transcript

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"harness/internal/platform/database"
)

// timeOf returns a place without its segment: within a turn, entries of clients then stand by the time at which they
// came, not before the turn's last answer.
func timeOf(place int64) int64 { return place &^ (lastSegment << segmentShift) }

// ByTime sorts the entries of a window by the time at which they came, turn by turn. An entry that follows another one
// by details.anchorItemId still does.
func (Store) ByTime(ctx context.Context, q database.Querier, sessionID string, entries []Entry) error {
	if len(entries) < 2 {
		return nil
	}
	args, marks := []any{database.EncodeText(sessionID)}, make([]string, len(entries))
	for i, entry := range entries {
		args = append(args, database.EncodeText(entry.MessageID))
		marks[i] = "$" + strconv.Itoa(len(args))
	}
	places := make(map[string]int64, len(entries))
	err := database.ReadEach(ctx, q, "read the places of a window", func(row database.Row) error {
		var id string
		var place int64
		err := row.Scan(&id, &place)
		places[database.DecodeText(id)] = place
		return err
	}, `select message_id, place from transcript_entries where session_id = $1 and message_id in (`+strings.Join(marks, ", ")+`)`, args...)
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Compare(timeOf(places[a.MessageID]), timeOf(places[b.MessageID]))
	})
	return err
}
