package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"harness/api/idempotency"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// site is a store and the clock of its servers.
type site struct {
	journal *journal.Journal
	db      *database.DB
	now     atomic.Int64 // ms
}

func open(t *testing.T, db *database.DB) *site {
	t.Helper()
	s := &site{db: db, journal: journal.New(db, journal.Options{Logger: zerolog.Nop()})}
	s.now.Store(time.Now().UnixMilli())
	if err := s.journal.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.journal.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// server is one process of a node.
func (s *site) server(t rapid.TB, node string) *idempotency.Store {
	t.Helper()
	server := idempotency.New(idempotency.Options{Journal: s.journal, DB: s.db, NodeID: node,
		Clock: func() time.Time { return time.UnixMilli(s.now.Load()) }})
	if err := server.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	return server
}

// known is the expected state of a key.
type known struct {
	request string
	claim   *idempotency.Claim // in progress
	answer  string
	lost    bool
	at      int64
}

// In any order of claims, results, releases, losses and kills, the store hands out a request once. Every later
// request with its key gets the outcome, and after a day the key is new again.
func TestIdempotencyKeyIsHandedOutOnce(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s, runs := open(t, dbtest.Open(t, engine)), 0
			rapid.Check(t, func(t *rapid.T) {
				runs++
				server, keys := s.server(t, "a"), map[string]*known{}
				key := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint(runs, "-", rapid.IntRange(1, 3).Draw(t, "key")) })
				settled := func(t *rapid.T) *known {
					k := keys[key.Draw(t, "of")]
					if k == nil || k.claim == nil || k.lost {
						t.Skip("it is not under way") // rapid tries another step instead; the test continues
					}
					return k
				}
				t.Repeat(map[string]func(*rapid.T){
					"claim": func(t *rapid.T) {
						name, request := key.Draw(t, "key"), rapid.SampledFrom([]string{"one", "other"}).Draw(t, "request")
						claim, answer, err := server.Claim(t.Context(), idempotency.Request{Caller: "ann", Key: name, Parts: []string{request}})
						k := keys[name]
						if k != nil && k.claim == nil && s.now.Load()-k.at >= idempotency.Lifetime.Milliseconds() {
							k = nil
						}
						var want error
						switch {
						case k == nil:
							keys[name] = &known{request: request, claim: claim, at: s.now.Load()}
						case k.request != request:
							want = idempotency.ErrReused
						case k.lost:
							want = idempotency.ErrLost
						case k.claim != nil:
							want = idempotency.ErrUnderWay
						case answer == nil || answer.Status != 201 || string(answer.Body) != k.answer:
							t.Fatalf("%s was answered %v, want %q", name, answer, k.answer)
						}
						if !errors.Is(err, want) || (claim != nil) != (k == nil) {
							t.Fatalf("%s: %v, %v, want %v", name, claim, err, want)
						}
					},
					"conclude": func(t *rapid.T) {
						k := settled(t)
						k.answer = rapid.String().Draw(t, "answer") + "."
						if err := k.claim.Conclude(t.Context(), idempotency.Answer{Status: 201, Body: []byte(k.answer)}); err != nil {
							t.Fatal(err)
						}
						k.claim = nil
					},
					"give back": func(t *rapid.T) {
						k := settled(t)
						if err := k.claim.GiveBack(t.Context()); err != nil {
							t.Fatal(err)
						}
						for name, other := range keys {
							if other == k {
								delete(keys, name)
							}
						}
					},
					"lose": func(t *rapid.T) {
						k := settled(t)
						k.claim.Lose()
						k.lost = true
					},
					"kill": func(t *rapid.T) {
						server = s.server(t, "a")
						for _, k := range keys {
							k.lost = k.lost || k.claim != nil
							k.claim = nil
						}
					},
					"wait":  func(*rapid.T) { s.now.Add(idempotency.Lifetime.Milliseconds() / 3) },
					"prune": func(t *rapid.T) { prune(t, server) },
				})
			})
		})
	}
}

func prune(t rapid.TB, server *idempotency.Store) (rows int64) {
	t.Helper()
	if err := server.Prune(context.Background(), func(_ string, n int64) { rows += n }); err != nil {
		t.Fatal(err)
	}
	return rows
}

// Of many concurrent requests on several servers, one is executed. Another server's claim without a response counts
// as lost after a while. Callers are independent, and after a day no row is left.
func TestOneOfManyConcurrentClaimsWins(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		a, b := s.server(t, "a"), s.server(t, "b")
		request := idempotency.Request{Caller: "ann", Key: "k", Parts: []string{"x"}}
		var claims atomic.Int64
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				claim, _, err := []*idempotency.Store{a, b}[i%2].Claim(t.Context(), request)
				if claim != nil {
					claims.Add(1)
				} else if !errors.Is(err, idempotency.ErrUnderWay) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if claims.Load() != 1 {
			t.Fatalf("%d do it", claims.Load())
		}
		s.now.Add(time.Hour.Milliseconds())
		refused := 0
		for _, server := range []*idempotency.Store{a, b} {
			_, _, err := server.Claim(t.Context(), request)
			if errors.Is(err, idempotency.ErrLost) {
				refused++
			} else if !errors.Is(err, idempotency.ErrUnderWay) {
				t.Error(err)
			}
		}
		if refused != 1 { // the other server has it, and sees that it is in progress
			t.Errorf("%d servers report it as lost", refused)
		}
		request.Caller = "bob"
		if claim, _, err := a.Claim(t.Context(), request); claim == nil {
			t.Errorf("another caller is refused: %v", err)
		}
		s.now.Add(idempotency.Lifetime.Milliseconds())
		if rows := prune(t, b); rows != 2 {
			t.Errorf("%d rows went", rows)
		}
	})
}
