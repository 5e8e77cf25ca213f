package shadow_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const (
	// costFactor bounds a capture in durations of the person's "git status" in the same repository: about 100 ms where
	// that takes 10 ms.
	costFactor = 20
	// costBytes bounds the disk space of a turn that changes ten texts.
	costBytes = 300_000
)

// WT-09
func TestACaptureCostsLittle(t *testing.T) {
	t.Parallel()
	const files, turns = 1000, 9
	base, folder := repository(t, fmt.Sprintf("mkdir src; for i in $(seq %d); do seq $i $((i+900)) > src/$i; done; git add -A; git commit -qm many", files))
	s := open(t, base, folder)
	capture(t, s)
	before := size(t, base)
	var ratios []float64
	for turn := range turns {
		for i := range 10 {
			text := fmt.Sprintf("%d\n", turn)
			name := filepath.Join(folder, "src", fmt.Sprint(turn*10+i+1))
			if err := os.WriteFile(name, append([]byte(text), read(t, name)...), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		if out, err := person(t, folder, "git status --porcelain"); err != nil {
			t.Fatal(out)
		}
		plain := time.Since(begun)
		begun = time.Now()
		capture(t, s)
		ratios = append(ratios, float64(time.Since(begun))/float64(plain))
	}
	slices.Sort(ratios)
	// Load delays the captures more than git status, because their git has a lower priority: the quick ones count.
	if got := ratios[1]; got > costFactor {
		t.Errorf("a capture takes %.1f durations of git status, at most %d expected: %.1f", got, costFactor, ratios)
	}
	if got := (size(t, base) - before) / turns; got > costBytes {
		t.Errorf("a turn takes %d bytes, at most %d expected", got, costBytes)
	}
	t.Logf("ratios %.1f, %d bytes a turn", ratios, (size(t, base)-before)/turns)
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// size is the disk space of a shadow in bytes, in blocks of 4 KiB.
func size(t *testing.T, base string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(base, "shadow.git"), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		bytes += (info.Size() + 4095) / 4096 * 4096
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}
