package migrations_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// landedFile lists the migrations that stores may have applied, with their SHA-256.
const landedFile = "testdata/landed.txt"

// A migration that stores may have applied stays unchanged, and a new one has a higher number than all of them. Every
// store with a higher migration would refuse one with a lower number. HARNESS_UPDATE=1 adds new ones to the list.
func TestLandedMigrationsStay(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(landedFile)
	if err != nil && os.Getenv("HARNESS_UPDATE") == "" {
		t.Fatal(err)
	}
	landed, last := map[string]string{}, ""
	for line := range strings.Lines(string(raw)) {
		name, sum, _ := strings.Cut(strings.TrimSpace(line), " ")
		landed[name], last = sum, max(last, name)
	}
	files, err := filepath.Glob("*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no migrations: %v", err)
	}
	var list strings.Builder
	numbers := map[string]string{}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		hash := sha256.Sum256(content)
		sum := hex.EncodeToString(hash[:])
		was, is := landed[name]
		delete(landed, name)
		switch {
		case is && was != sum:
			t.Errorf("%s was changed, and stores that have applied it are as before: write a new migration", name)
		case !is && name < last:
			t.Errorf("%s is new and comes before %s, which stores may have: give it a higher number", name, last)
		case !is && os.Getenv("HARNESS_UPDATE") == "":
			t.Errorf("%s is not in %s: HARNESS_UPDATE=1 go test ./migrations -run TestLandedMigrationsStay adds it", name, landedFile)
		}
		number := name[:4]
		if other := numbers[number]; other != "" {
			t.Errorf("%s and %s have one number", other, name)
		}
		numbers[number] = name
		fmt.Fprintf(&list, "%s %s\n", name, sum)
	}
	for name := range landed {
		t.Errorf("%s is gone, and stores may have applied it", name)
	}
	if os.Getenv("HARNESS_UPDATE") != "" && !t.Failed() {
		if err := os.MkdirAll(filepath.Dir(landedFile), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(landedFile, []byte(list.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
