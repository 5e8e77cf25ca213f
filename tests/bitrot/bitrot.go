// Package bitrot sets how many bits the tests of damaged files flip.
//
// It owns the variable HARNESS_BITROT. It must never know the files.
package bitrot

import (
	"os"
	"strconv"
	"testing"
)

// Flips returns the number of bits to flip: HARNESS_BITROT, or the fallback without it.
func Flips(t *testing.T, fallback int) int {
	t.Helper()
	given := os.Getenv("HARNESS_BITROT")
	if given == "" {
		return fallback
	}
	flips, err := strconv.Atoi(given)
	if err != nil {
		t.Fatalf("HARNESS_BITROT: %v", err)
	}
	return flips
}
