package manager

import (
	"testing"
)

// A unit of single upserts is complete when as many have joined as were in progress when the last unit ended: those it
// stored and those that waited.
func TestAUnitIsWholeWithTheCompanyOfTheLast(t *testing.T) {
	t.Parallel()
	service := &Upserter{}
	q := &service.upserts
	join := func() *upsertBatch {
		batch, _ := q.join(service, &upsert{}, false)
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
	ran := func(b *upsertBatch) { b.close() }

	lone := join()
	if !whole(lone) {
		t.Fatal("the first unit waits for others")
	}
	ran(lone)
	next := join() // while the first unit is stored
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
	q.ended(after) // the third did not come
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

// A unit that accepts no more does not wait for other upserts, which join the next unit.
func TestAFullUnitIsWhole(t *testing.T) {
	t.Parallel()
	q := &upserts{company: 10 * maxGathered}
	first, _ := q.join(&Upserter{}, &upsert{bytes: maxGatheredBytes}, false)
	next, opened := q.join(&Upserter{}, &upsert{bytes: 1}, false)
	if !opened || next == first {
		t.Fatal("a full unit takes more")
	}
	select {
	case <-first.whole:
	default:
		t.Fatal("a full unit waits for others")
	}
}

// Where units overlap, half of the company is enough; so is the part of it that is not being written to the disk.
func TestUnitsThatOverlapShareTheCompany(t *testing.T) {
	t.Parallel()
	service := &Upserter{}
	q := &service.upserts
	q.company = 5
	// unit returns a unit of n upserts that is not complete with fewer.
	unit := func(n int) (batch *upsertBatch) {
		t.Helper()
		for i := range n {
			batch, _ = q.join(service, &upsert{}, true)
			select {
			case <-batch.whole:
				if i < n-1 {
					t.Fatalf("whole with %d, want %d", i+1, n)
				}
			default:
				if i == n-1 {
					t.Fatalf("not whole with %d", n)
				}
			}
		}
		batch.close() // it runs
		return batch
	}
	first := unit(3)
	second := unit(2)
	q.ended(first)
	if q.company != 5 || q.running != 2 {
		t.Fatalf("%d under way of %d", q.running, q.company)
	}
	third := unit(3)
	q.ended(second)
	q.ended(third) // the others did not come
	if q.company != 3 || q.running != 0 {
		t.Fatalf("%d under way of %d", q.running, q.company)
	}
	unit(2)
}
