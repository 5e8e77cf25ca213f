package manager

import (
	"context"
	"strings"
	"testing"

	"harness/internal/services/session"
	"harness/transcript"
)

// A turn that was stopped has an entry that says who stopped it and when, and clients receive it. A turn that ended by
// itself has none.
func TestAStopIsInTheTranscript(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turnID := k.send(s.ID)
		if _, err := k.Interrupt(context.WithValue(t.Context(), actorKey{}, "the test"), s.ID, turnID); err != nil {
			t.Fatal(err)
		}
		k.flush()
		var found []transcript.Entry
		for _, entry := range k.stored(s.ID) {
			if entry.Type == session.EntryTurnStopped {
				found = append(found, entry)
			}
		}
		if len(found) != 1 {
			t.Fatalf("%d entries describe the stop", len(found))
		}
		entry := found[0]
		if entry.TurnID != turnID || entry.Content != "Stopped by the test" || entry.Status != transcript.Complete ||
			entry.CompletedAt == nil || entry.Details == nil || !strings.Contains(*entry.Details, `"stoppedAt"`) {
			t.Errorf("the entry is %+v", entry)
		}
		published := 0
		for _, event := range k.events(session.EventTranscriptUpdated) {
			if strings.Contains(string(event.Payload), session.EntryTurnStopped) {
				published++
			}
		}
		if published != 1 {
			t.Errorf("clients received it %d times", published)
		}
	})
}
