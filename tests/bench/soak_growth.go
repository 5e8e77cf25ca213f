package main

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// mayGrow is the share by which a series may grow from the first to the last third of the samples, because memory and
// files fluctuate.
const mayGrow = 0.10

// soakRecycle is the size in MiB above which the server replaces an idle codex in a soak.
const soakRecycle = 256

// soakEvents is how many events the journal keeps in a soak. The server prunes it once a minute.
const soakEvents = 3000

// warmUp returns how long a soak runs before its samples count: a third of it, at most twenty minutes.
func warmUp(length time.Duration) time.Duration { return min(length/3, 20*time.Minute) }

// checkGrowth prints the growth of each series and fails if a series is not flat. A series grows if the median of the
// last third after the warm-up exceeds that of the first by more than mayGrow and its noise. It must also exceed its
// bound, if it has one.
func checkGrowth(all []*gauge, length time.Duration) error {
	t := newTable(fmt.Sprintf("Growth in %s after a warm-up of %s: medians of the first and the last third",
		(length-warmUp(length)).Round(time.Second), warmUp(length).Round(time.Second)), "what", "unit", "at first", "at last",
		"most", "may reach", "flat")
	var errs []error
	for _, one := range all {
		values := one.values[int(float64(len(one.values))*warmUp(length).Seconds()/length.Seconds()):]
		if len(values) < 9 {
			return fmt.Errorf("%d samples after the warm-up are too few", len(values))
		}
		third := len(values) / 3
		first, last := middle(values[:third]), middle(values[len(values)-third:])
		limit := max(first*(1+mayGrow)+one.noise, one.bound)
		verdict := "yes"
		if last > limit {
			verdict = "NO"
			errs = append(errs, fmt.Errorf("%s grew from %.1f to %.1f %s, more than the %.1f it may reach", one.name, first,
				last, one.unit, limit))
		}
		t.add(one.name, one.unit, first, last, slices.Max(values), limit, verdict)
	}
	t.print()
	return errors.Join(errs...)
}
