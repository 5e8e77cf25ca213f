package usage

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"

	"harness/internal/services/session"
)

// BuiltInSince is the day of the built-in prices.
const BuiltInSince = "2026-05-13"

// BuiltIn returns the list prices of common models on BuiltInSince. They apply to all days. A model that is not in the
// list has no price: a guess would look like a fact.
func BuiltIn() []session.Price {
	list := []struct {
		models                string
		input, cached, output float64 // US dollars per million tokens
	}{
		{"gpt-5.5", 5, 0.5, 30},
		{"gpt-5.4", 2.5, 0.25, 15},
		{"gpt-5.4-mini", 0.75, 0.075, 4.5},
		{"gpt-5.4-nano", 0.2, 0.02, 1.25},
		{"gpt-5.3-codex gpt-5.2-codex gpt-5.2", 1.75, 0.175, 14},
		{"gpt-5.1-codex-max gpt-5.1-codex gpt-5.1 gpt-5-codex gpt-5", 1.25, 0.125, 10},
		{"gpt-5.1-codex-mini gpt-5-mini", 0.25, 0.025, 2},
		{"gpt-5-nano", 0.05, 0.005, 0.4},
		{"claude-opus-4-8 claude-opus-4-7 claude-opus-4-6 claude-opus-4-5", 5, 0.5, 25},
		{"claude-opus-4-1 claude-opus-4", 15, 1.5, 75},
		{"claude-sonnet-4-6 claude-sonnet-4-5 claude-sonnet-4", 3, 0.3, 15},
		{"claude-haiku-4-5", 1, 0.1, 5},
		{"gemini-2.5-pro", 1.25, 0.125, 10},
		{"gemini-2.5-flash", 0.3, 0.03, 2.5},
		{"gemini-2.5-flash-lite", 0.1, 0.01, 0.4},
	}
	micros := func(dollars float64) int64 { return int64(math.Round(dollars * 1e6)) }
	var all []session.Price
	for _, row := range list {
		for model := range strings.FieldsSeq(row.models) {
			all = append(all, session.Price{Model: model, Input: micros(row.input), Cached: micros(row.cached),
				Output: micros(row.output)})
		}
	}
	return all
}

// dated is the end of a name that only says the release of a model: -20250929, -2025-08-07, -latest.
var dated = regexp.MustCompile(`(-\d{8}|-\d{4}-\d{2}-\d{2}|-latest)$`)

// fit returns how well a price fits a model: 0 if not at all; a name fits better than the start of names, and what people
// set better than what is built in.
func fit(p session.Price, model string) int {
	own := 0
	if p.ID != "" {
		own = 1 << 20
	}
	named := model[strings.LastIndexByte(model, '/')+1:] // without the provider, as in anthropic/claude-sonnet-4-5
	prefix, pattern := strings.CutSuffix(p.Model, "*")
	switch {
	case p.Model == model:
		return own + 1<<19
	case p.Model == named:
		return own + 1<<18
	case !pattern && p.Model == dated.ReplaceAllString(named, ""):
		return own + 1<<17
	case pattern && (strings.HasPrefix(model, prefix) || strings.HasPrefix(named, prefix)):
		return own + len(prefix) + 1
	}
	return 0
}

// span is a price for the days from price.Since until before until.
type span struct {
	price session.Price
	until int64
}

// spansOf returns the prices of a model over time, none if it has no price.
func spansOf(table []session.Price, model string) (spans []span) {
	if model == "" {
		return nil
	}
	fits := slices.DeleteFunc(slices.Clone(table), func(p session.Price) bool { return fit(p, model) == 0 })
	var starts []int64
	for _, p := range fits {
		starts = append(starts, p.Since)
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	for i, start := range starts {
		known := slices.DeleteFunc(slices.Clone(fits), func(p session.Price) bool { return p.Since > start })
		best := slices.MaxFunc(known, func(a, b session.Price) int {
			return cmp.Or(cmp.Compare(fit(a, model), fit(b, model)), cmp.Compare(a.Since, b.Since))
		})
		best.Since = start
		until := int64(math.MaxInt64)
		if i+1 < len(starts) {
			until = starts[i+1]
		}
		spans = append(spans, span{best, until})
	}
	return spans
}
