package usage

import (
	"fmt"
	"math"
	"testing"

	"harness/internal/services/session"
)

// The best price of a model is the one with the closest name; what people set precedes what is built in.
func TestPricesFit(t *testing.T) {
	t.Parallel()
	price := func(id, model string, since int64) session.Price {
		return session.Price{ID: id, Model: model, Since: since}
	}
	table := []session.Price{price("", "m-1", 0), price("", "m-1-mini", 0), price("1", "m-*", 10), price("2", "m-1", 20),
		price("3", "p/m-1", 30), price("4", "m-1-mini*", 5)}
	for model, want := range map[string]string{
		"m-1":             "0: 10:1 20:2",
		"q/m-1":           "0: 10:1 20:2",
		"p/m-1":           "0: 10:1 20:2 30:3",
		"m-1-20250101":    "0: 10:1 20:2",
		"m-1-2025-01-01":  "0: 10:1 20:2",
		"m-1-mini":        "0: 5:4 10:4",
		"m-1-mini-latest": "0: 5:4 10:4",
		"m-12":            "10:1",
		"m":               "",
		"":                "",
	} {
		got, until := "", int64(-1)
		for _, s := range spansOf(table, model) {
			if until >= 0 && s.price.Since != until {
				t.Errorf("%s: a gap before %d", model, s.price.Since)
			}
			until = s.until
			got += fmt.Sprintf(" %d:%s", s.price.Since, s.price.ID)
		}
		if got != "" {
			got = got[1:]
		}
		if got != want || got != "" && until != math.MaxInt64 {
			t.Errorf("%q: %q until %d, want %q", model, got, until, want)
		}
	}
}

// Built-in prices are complete: one for each model, a cached token costs at most an uncached one.
func TestBuiltInPrices(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range BuiltIn() {
		if seen[p.Model] || p.Input <= 0 || p.Output < p.Input || p.Cached <= 0 || p.Cached > p.Input || p.ID != "" || p.Since != 0 {
			t.Errorf("the built-in price %+v", p)
		}
		seen[p.Model] = true
	}
}
