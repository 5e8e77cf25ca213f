package door

import (
	"slices"
	"strings"
)

// Echoes are the texts of a client's own messages whose items are still to come.
type Echoes []string

// Expect adds a text. A runtime without echoes leaves the texts here; the oldest go.
func (e *Echoes) Expect(text string) {
	const most = 50
	if *e = append(*e, strings.TrimSpace(text)); len(*e) > most {
		*e = (*e)[1:]
	}
}

// Take removes a text, whose item came or whose message was refused, and reports whether it was expected.
func (e *Echoes) Take(text string) bool {
	at := slices.Index(*e, strings.TrimSpace(text))
	if at >= 0 {
		*e = slices.Delete(*e, at, at+1)
	}
	return at >= 0
}
