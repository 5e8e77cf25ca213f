package contract

import (
	"fmt"
	"strings"
)

// Outcome is the result of comparing an exchange or frame.
type Outcome int

// The outcomes, from best to worst.
const (
	Equal Outcome = iota
	Deliberate
	// NotServed is a route that this server lacks, or a request about an object that such a route would have created.
	NotServed
	Different
)

// Result is one compared exchange or frame.
type Result struct {
	// Name is the recorder's name of the exchange, Subject the request line or the frame's kind.
	Name, Subject string
	Frame         bool
	Outcome       Outcome
	Differences   []Difference
	// Rows are the indexes of the deliberate differences that excuse it.
	Rows []int
}

// Report is the result of a topic.
type Report struct {
	Topic   string
	Results []Result
}

// Count returns how many exchanges (or frames) had an outcome.
func (r *Report) Count(frames bool, outcome Outcome) int {
	n := 0
	for _, one := range r.Results {
		if one.Frame == frames && one.Outcome == outcome {
			n++
		}
	}
	return n
}

// Heading returns the first line of the summary. Line returns the line of a topic.
func Heading() string {
	return fmt.Sprintf("%-31s %9s %6s %10s %9s %10s | %6s %6s %10s %9s", "topic", "exchanges", "equal", "deliberate",
		"different", "not served", "frames", "equal", "deliberate", "different")
}

// Line returns the summary of the topic.
func (r *Report) Line() string {
	h := func(o Outcome) int { return r.Count(false, o) }
	f := func(o Outcome) int { return r.Count(true, o) }
	return fmt.Sprintf("%-31s %9d %6d %10d %9d %10d | %6d %6d %10d %9d", r.Topic,
		h(Equal)+h(Deliberate)+h(Different)+h(NotServed), h(Equal), h(Deliberate), h(Different), h(NotServed),
		f(Equal)+f(Deliberate)+f(Different), f(Equal), f(Deliberate), f(Different))
}

// Details lists the differences for a person to fix.
func (r *Report) Details(outcome Outcome) string {
	var out strings.Builder
	for _, one := range r.Results {
		if one.Outcome != outcome {
			continue
		}
		fmt.Fprintf(&out, "%s | %s | %s\n", r.Topic, one.Name, one.Subject)
		for _, d := range one.Differences {
			fmt.Fprintf(&out, "      %s\n", d)
		}
	}
	return out.String()
}

func (r *Report) add(result Result) {
	if result.Outcome == Different {
		if rows, all := excuse(r.Topic, result); all {
			result.Outcome, result.Rows = Deliberate, rows
		}
	}
	r.Results = append(r.Results, result)
}
