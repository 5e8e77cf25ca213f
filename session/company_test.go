package session

import (
	"testing"
)

// A unit of single upserts is whole when as many joined as were under way when the last one ended: those it stored and those that waited.
func TestAUnitIsWholeWithTheCompanyOfTheLast(t *testing.T) {
	t.Parallel()
	q := &upserts{}
	service := &Service{}
	join := func() *upsertBatch {
		batch, _ := q.join(service, &upsert{})
		return batch
	}
	whole := func(b *upsertBatch) bool {
		select {
		case <-b.whole:
			return true
		default:
			return false
		}
	}
	ran := func(b *upsertBatch) {
		if q.open == b {
			q.open = nil
		}
	}

	lone := join()
	if !whole(lone) {
		t.Fatal("the first unit waits for others")
	}
	ran(lone)
	next := join() // while the first one is stored
	if join() != next {
		t.Fatal("the second upsert has a unit of its own")
	}
	q.ended(lone)
	if last := join(); last != next || !whole(next) {
		t.Fatal("a unit of as many as were under way is not whole")
	}
	ran(next)
	q.ended(next) // of three
	after := join()
	join()
	if whole(after) {
		t.Fatal("a unit of two does not wait for the third")
	}
	ran(after)
	q.ended(after) // the third stayed away
	fewer := join()
	if whole(fewer) {
		t.Fatal("a unit of one does not wait for the second")
	}
	ran(fewer)
	q.ended(fewer)
	if alone := join(); !whole(alone) {
		t.Fatal("who is alone waits for others")
	}
}

// A unit that takes no more does not wait for others, who go to the next.
func TestAFullUnitIsWhole(t *testing.T) {
	t.Parallel()
	q := &upserts{company: 10 * maxGathered}
	first, _ := q.join(&Service{}, &upsert{bytes: maxGatheredBytes})
	next, opened := q.join(&Service{}, &upsert{bytes: 1})
	if !opened || next == first {
		t.Fatal("a full unit takes more")
	}
	select {
	case <-first.whole:
	default:
		t.Fatal("a full unit waits for others")
	}
}
