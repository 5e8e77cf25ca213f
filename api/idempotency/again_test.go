package idempotency_test

import (
	"errors"
	"testing"
	"time"

	"harness/api/idempotency"
	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// claimed claims a request, fails unless the store hands it out, and returns the claim.
func claimed(t *testing.T, s *idempotency.Store, r idempotency.Request) *idempotency.Claim {
	t.Helper()
	claim, answer, err := s.Claim(t.Context(), r)
	if claim == nil {
		t.Fatalf("it is not handed out: %v, %v", answer, err)
	}
	return claim
}

// The store hands a repeatable request out again under the same name when its server exited or lost the outcome, or
// when another server that started it can no longer continue. Once the request has a response, the caller gets the
// response.
func TestRepeatableRequestIsHandedOutAgain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		a, b := s.server(t, "a"), s.server(t, "b")
		request := idempotency.Request{Caller: "ann", Key: "k", Parts: []string{"x"}, Again: true}
		other, alone, nextKey := request, request, request
		other.Parts, alone.Alone, nextKey.Key = []string{"y"}, true, "l"
		want := func(server *idempotency.Store, r idempotency.Request, want error) {
			t.Helper()
			if claim, answer, err := server.Claim(t.Context(), r); claim != nil || answer != nil || !errors.Is(err, want) {
				t.Errorf("it is answered %v, %v, %v, want %v", claim, answer, err, want)
			}
		}
		name := claimed(t, a, request).Name()
		a = s.server(t, "a") // the first server was killed
		want(a, other, idempotency.ErrReused)
		claim := claimed(t, a, request)
		if claim.Name() != name || claimed(t, b, nextKey).Name() == name {
			t.Errorf("its name was %s and is %s", name, claim.Name())
		}
		claim.Lose()
		want(a, other, idempotency.ErrReused)
		lost := claimed(t, a, request)
		want(b, request, idempotency.ErrUnderWay)
		taken := claimed(t, b, alone)
		if err := errors.Join(lost.Conclude(t.Context(), idempotency.Answer{Status: 500}), lost.GiveBack(t.Context())); err != nil {
			t.Error(err) // this does not change another server's claim
		}
		want(a, request, idempotency.ErrUnderWay)
		s.now.Add(time.Hour.Milliseconds())
		want(b, request, idempotency.ErrUnderWay) // it sees that the request is in progress
		late := claimed(t, a, request)
		if err := taken.GiveBack(t.Context()); err != nil {
			t.Error(err)
		}
		if err := late.Conclude(t.Context(), idempotency.Answer{Status: 202, Body: []byte("done")}); err != nil {
			t.Fatal(err)
		}
		late.Lose()
		for _, server := range []*idempotency.Store{a, b} {
			if _, answer, err := server.Claim(t.Context(), alone); err != nil || answer == nil || string(answer.Body) != "done" {
				t.Errorf("it is answered %v, %v", answer, err)
			}
		}
	})
}

// Ending a claim twice does not affect the next caller's claim.
func TestClaimEndsOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		server := open(t, db).server(t, "a")
		for _, again := range []bool{false, true} {
			request := idempotency.Request{Caller: "ann", Key: map[bool]string{true: "k", false: "l"}[again], Parts: []string{"x"}, Again: again}
			first := claimed(t, server, request)
			if err := first.GiveBack(t.Context()); err != nil {
				t.Fatal(err)
			}
			claimed(t, server, request)
			first.Lose()
			if _, _, err := server.Claim(t.Context(), request); !errors.Is(err, idempotency.ErrUnderWay) {
				t.Errorf("again %v: what is under way is answered %v", again, err)
			}
		}
	})
}
