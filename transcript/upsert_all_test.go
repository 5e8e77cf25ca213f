package transcript_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/transcript"
)

// Batches of random upserts leave exactly the same rows and order as the same upserts one by one (TR-03, TR-04).
func TestUpsertAllEqualsUpsertsOneByOne(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, batched *database.DB) {
		single := dbtest.Open(t, batched.Engine())
		random := rand.New(rand.NewPCG(3, 4))
		var store transcript.Store
		sessions := []string{"a", "b", "c\x00\x01"}
		for round := range 60 {
			puts := make([]transcript.Put, 1+random.IntN(150))
			for i := range puts {
				puts[i] = transcript.Put{SessionID: sessions[random.IntN(len(sessions))], Entry: randomEntry(random)}
			}
			must(t, batched.Update(t.Context(), func(tx database.Tx) error { return store.UpsertAll(t.Context(), tx, puts) }))
			must(t, single.Update(t.Context(), func(tx database.Tx) error {
				for _, put := range puts {
					if _, _, err := store.Upsert(t.Context(), tx, put.SessionID, put.Entry); err != nil {
						return err
					}
				}
				return nil
			}))
			for _, session := range sessions {
				got, want := stored(t, batched, session), stored(t, single, session)
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("round %d, session %q:\n%v\nwant\n%v", round, session, got, want)
				}
			}
		}
	})
}

// If its transaction fails, a batch leaves nothing.
func TestUpsertAllIsUndoneWithItsTransaction(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var store transcript.Store
		failed := errors.New("no")
		err := db.Update(t.Context(), func(tx database.Tx) error {
			return errors.Join(
				store.UpsertAll(t.Context(), tx,
					[]transcript.Put{{SessionID: "a", Entry: transcript.Entry{MessageID: "m", Status: transcript.Complete}}}), failed)
		})
		if !errors.Is(err, failed) || len(stored(t, db, "a")) != 0 {
			t.Fatalf("%v, %d entries", err, len(stored(t, db, "a")))
		}
	})
}

func randomEntry(random *rand.Rand) transcript.Entry {
	statuses := []transcript.Status{transcript.Streaming, transcript.Complete, transcript.Canceled, transcript.Failed}
	entry := transcript.Entry{
		MessageID: fmt.Sprintf("m%d\x00", random.IntN(40)), TurnID: fmt.Sprintf("t%d", random.IntN(3)), Role: "assistant",
		Type: "agentMessage", Content: fmt.Sprintf("content %d \x01", random.IntN(5)),
		Status: statuses[random.IntN(len(statuses))],
	}
	if random.IntN(2) == 0 {
		details := fmt.Sprintf("details %d", random.IntN(3))
		entry.Details = &details
	}
	for _, at := range []**int64{&entry.StartedAt, &entry.CompletedAt} {
		if random.IntN(2) == 0 {
			value := random.Int64N(1000)
			*at = &value
		}
	}
	return entry
}

func stored(t *testing.T, db *database.DB, session string) []transcript.Entry {
	t.Helper()
	entries, err := transcript.Store{}.List(context.WithoutCancel(t.Context()), db.Read(), session)
	must(t, err)
	return entries
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
