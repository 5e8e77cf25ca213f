package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"harness/tests/outside"
)

// report collects the events of a run.
type report struct {
	out     io.Writer
	verbose bool
	// stopped means that no other pass may begin: one could not run, or a signal arrived.
	stopped atomic.Bool
	// mu guards what follows, and the output.
	mu       sync.Mutex
	finished []result
	failed   []string
	// leftOut counts skipped tests by the part that they need.
	leftOut map[string]int
}

// reading reads the events of one pass. Another pass may test the same package at the same time.
type reading struct {
	*report
	packages map[string]*packageRun
	// ended counts the packages that ended.
	ended int
}

// packageRun is a package under test: its own output, and the output of each test that has not passed.
type packageRun struct {
	output []string
	tests  map[string][]string
}

// result is the time that a test took.
type result struct {
	name    string
	seconds float64
}

func (r *report) print(text string) { _, _ = io.WriteString(r.out, text) }

func (r *reading) handle(e event) {
	if e.Action == "build-output" {
		r.print(e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	run := r.packages[e.Package]
	if run == nil {
		run = &packageRun{tests: map[string][]string{}}
		r.packages[e.Package] = run
	}
	switch {
	case e.Action == "output" && r.verbose:
		r.print(e.Output)
	case e.Action == "output" && e.Test == "":
		run.output = append(run.output, e.Output)
	}
	if e.Action == "output" && e.Test != "" && !isMarker(e.Output) {
		run.tests[e.Test] = append(run.tests[e.Test], e.Output)
	}
	if slices.Contains([]string{"pass", "fail", "skip"}, e.Action) {
		if e.Test == "" {
			r.endPackage(e, run)
		} else {
			r.endTest(e, run)
		}
	}
}

// isMarker reports whether a line only marks that a test begins, pauses or continues.
func isMarker(line string) bool {
	return strings.HasPrefix(line, "=== ")
}

func (r *report) endTest(e event, run *packageRun) {
	if !strings.Contains(e.Test, "/") {
		r.finished = append(r.finished, result{e.Package + "." + e.Test, e.Elapsed})
	}
	switch e.Action {
	case "fail":
		if !strings.Contains(e.Test, "/") {
			r.failed = append(r.failed, e.Package+"."+e.Test)
		}
		return
	case "skip":
		if _, part, found := strings.Cut(strings.Join(run.tests[e.Test], ""), outside.Words); found {
			part, _, _ = strings.Cut(part, "\n")
			r.leftOut[part]++
		}
	}
	delete(run.tests, e.Test)
}

// endPackage prints the output of go test without -v: all output of a failed package, one line of another.
func (r *reading) endPackage(e event, run *packageRun) {
	delete(r.packages, e.Package)
	r.ended++
	if r.verbose {
		return
	}
	if e.Action != "fail" {
		for _, line := range run.output {
			if strings.HasPrefix(line, "ok  ") || strings.HasPrefix(line, "?   ") || strings.HasPrefix(line, "\t") {
				r.print(line)
			}
		}
		return
	}
	for _, test := range slices.Sorted(maps.Keys(run.tests)) {
		r.print(strings.Join(run.tests[test], ""))
	}
	r.print(strings.Join(run.output, ""))
	if len(run.tests) == 0 {
		r.failed = append(r.failed, e.Package) // it did not build, or ended before a test did
	}
}

// summarize prints the end of the run: the slowest tests, the skipped tests, and the failures last.
func (r *report) summarize(slowest int) {
	slices.SortStableFunc(r.finished, func(a, b result) int { return cmp.Compare(b.seconds, a.seconds) })
	if shown := r.finished[:min(slowest, len(r.finished))]; len(shown) > 0 {
		r.print(fmt.Sprintf("== the slowest %d of %d tests\n", len(shown), len(r.finished)))
		for _, test := range shown {
			r.print(fmt.Sprintf("%8.1f s  %s\n", test.seconds, test.name))
		}
	}
	if len(r.leftOut) > 0 {
		sum, parts := 0, []string{}
		for _, part := range slices.Sorted(maps.Keys(r.leftOut)) {
			sum += r.leftOut[part]
			parts = append(parts, fmt.Sprintf("%s %d", part, r.leftOut[part]))
		}
		r.print(fmt.Sprintf("== left out: %d tests and subtests that need a part from outside (%s); make test runs them\n",
			sum, strings.Join(parts, ", ")))
	}
	if len(r.failed) > 0 {
		slices.Sort(r.failed)
		r.print(fmt.Sprintf("== FAILED: %d\n", len(r.failed)))
		for _, name := range r.failed {
			r.print("  " + name + "\n")
		}
	}
}
