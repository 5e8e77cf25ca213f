package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// EV-25: the same operations, whatever they are, produce the same log in every store, byte for byte.
func TestEveryStoreKeepsTheSameLog(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	logs := map[database.Engine][]string{}
	for _, engine := range dbtest.Engines() {
		j := start(t, dbtest.Open(t, engine), journal.Options{})
		random := rand.New(rand.NewPCG(seed, 1))
		for range 120 {
			operate(t, j, random)
		}
		for _, r := range readAll(t, j) {
			r.Known = nil
			payload, meta := string(r.Payload), string(r.Meta)
			r.Payload, r.Meta = nil, nil
			logs[engine] = append(logs[engine], fmt.Sprintf("%+v meta %s payload %s", r, meta, payload))
		}
	}
	one, other := logs[database.SQLite], logs[database.Postgres]
	if len(one) == 0 || len(one) != len(other) {
		t.Fatalf("%d records on SQLite, %d on Postgres", len(one), len(other))
	}
	for i := range one {
		if one[i] != other[i] {
			t.Fatalf("record %d of\nSQLite   %s\nPostgres %s", i, one[i], other[i])
		}
	}
}

// operate runs one random operation on a journal.
func operate(t *testing.T, j *journal.Journal, random *rand.Rand) {
	t.Helper()
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	event := func() journal.Event {
		payload, err := json.Marshal(map[string]any{"text": pick("", "plain", "ü\u2028\\u0000", "𝕏 \"quoted\"\n\t"), "n": random.Int64()})
		if err != nil {
			t.Fatal(err)
		}
		return journal.Event{SessionID: pick("", "s1", "s2", "s\x00 3"), TurnID: pick("", "t"), ItemID: pick("", "i 1"),
			Type: pick("a", "b.c"), Time: 1 + random.Int64N(1<<40), Source: pick("", "codex"), Actor: pick("", "someone"),
			Role: pick("", "operator"), Broadcast: random.IntN(9) == 0, TraceID: pick("", "0af7651916cd43dd8448eb211c80319c"),
			Meta: json.RawMessage(pick(`{}`, `{"b":1,"a":[ 2 ]}`)), Payload: payload}
	}
	events := make([]journal.Event, 1+random.IntN(5))
	for i := range events {
		events[i] = event()
		events[i].SessionID = database.EncodeText(events[i].SessionID)
	}
	refused := errors.New("refused")
	var err error
	switch what := random.IntN(12); what {
	case 0:
		_, err = j.Commit(t.Context(), func(context.Context, database.Tx) ([]journal.Event, error) { return events, refused })
		if errors.Is(err, refused) {
			err = nil
		}
	case 1:
		session := events[0].SessionID
		_, err = j.Commit(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			return events, journal.Redact(ctx, tx, session)
		})
	case 2:
		_, err = j.Prune(t.Context(), 150)
	default:
		_, err = j.Append(t.Context(), events...)
	}
	if err != nil {
		t.Fatal(err)
	}
}
