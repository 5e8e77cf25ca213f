package manager

import (
	"context"
	"slices"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/transcript"
)

// Pages from either end, of any size, add up to the transcript; rolled-back turns do not count.
func TestPagesAreTheTranscript(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.live(s.ID, 5)
		check := func() {
			t.Helper()
			detail, err := k.Get(t.Context(), s.ID)
			k.do(err)
			whole := detail.Transcript
			backwards := slices.Clone(whole)
			slices.Reverse(backwards)
			for size := 1; size < len(whole)+2; size += 3 {
				for _, newestFirst := range []bool{false, true} {
					want := whole
					if newestFirst {
						want = backwards
					}
					var got []transcript.Entry
					for {
						page, err := k.TranscriptPage(t.Context(), s.ID, len(got), size, newestFirst)
						k.do(err)
						if page.Total != int64(len(whole)) {
							t.Fatalf("there are %d of %d", page.Total, len(whole))
						}
						if got = append(got, page.Entries...); len(page.Entries) == 0 {
							break
						}
					}
					if !slices.EqualFunc(got, want, transcript.Entry.Equal) {
						t.Errorf("pages of %d, newest first %t, are %d entries that differ from the %d", size, newestFirst, len(got),
							len(want))
					}
				}
			}
		}
		check()
		k.do(k.journal.Do(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			return nil, k.entries.RollBack(ctx, tx, s.ID, []string{"turn-4"}, k.now())
		}))
		check()
		counts, err := k.MessageCounts(t.Context(), []string{s.ID, "nobody"})
		if k.do(err); counts[s.ID] != 12 || counts["nobody"] != 0 {
			t.Errorf("%v", counts)
		}
	})
}

// A page of a transcript of 3,600 entries costs about as much as one of 30, from either end. Only counting the
// entries, which uses an index, grows with the transcript.
func TestPagesAreFlat(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := open(t, db, "node")
		short, long := k.create().ID, k.create().ID
		k.live(short, 10)
		k.live(long, 1200)
		k.analyze()
		measure := func(newestFirst bool) float64 {
			took := map[string]time.Duration{short: time.Hour, long: time.Hour}
			for range 30 { // the fastest of many: other load only adds time
				for id, fastest := range took {
					start := time.Now()
					page, err := k.TranscriptPage(t.Context(), id, 0, 20, newestFirst)
					took[id] = min(fastest, time.Since(start))
					if k.do(err); len(page.Entries) != 20 {
						t.Fatalf("%d entries", len(page.Entries))
					}
				}
			}
			ratio := float64(took[long]) / float64(took[short])
			t.Logf("newest first %t: %v of 30 entries, %v of 3,600 (%.2fx)", newestFirst, took[short], took[long], ratio)
			return ratio
		}
		for _, newestFirst := range []bool{false, true} {
			ratio := measure(newestFirst)
			for try := 1; ratio > 12 && try < flatTries; try++ {
				ratio = measure(newestFirst)
			}
			if ratio > 12 {
				t.Errorf("a page takes %.1f times as long of 120 times as many entries", ratio)
			}
		}
	})
}
