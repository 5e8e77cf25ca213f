package search

import (
	"cmp"
	"slices"
	"strings"
)

// searchUnit is a unit of a query. If begins is set, longer words with this prefix match, too.
type searchUnit struct {
	text           string
	joined, begins bool
}

// term is a term for the engine. begins is as in searchUnit.
type term struct {
	text   string
	begins bool
}

// wanted is a parsed query: the terms for the index, and the needles, which the text itself must contain. The units of
// a needle are adjacent.
type wanted struct {
	terms   []term
	needles [][]searchUnit
}

// parse parses a query: words, and phrases in quotes. Adjacent signs are one phrase.
func parse(query string) (wanted, error) {
	var w wanted
	parts := strings.Split(prepared(query), `"`)
	words := 0
	for i, part := range parts {
		units := unitsOf(part)
		words += len(units)
		var phrase []searchUnit
		for at, u := range units {
			one := searchUnit{text: u.text, joined: u.joined,
				begins: !u.sign && i == len(parts)-1 && at == len(units)-1}
			if len(phrase) > 0 && i%2 == 0 && !u.joined {
				w.needles = append(w.needles, phrase)
				phrase = nil
			}
			phrase = append(phrase, one)
		}
		if len(phrase) > 0 {
			w.needles = append(w.needles, phrase)
		}
	}
	if words == 0 {
		return wanted{}, &QueryError{"there is no word to search for: give at least one letter or digit"}
	}
	for _, needle := range w.needles {
		w.terms = append(w.terms, termsOfNeedle(needle)...)
	}
	slices.SortFunc(w.terms, func(a, b term) int { return cmp.Compare(a.text, b.text) })
	w.terms = slices.Compact(w.terms)
	if len(w.terms) > maxWords {
		return wanted{}, &QueryError{"there are too many words: give at most 32"}
	}
	return w, nil
}

// termsOfNeedle returns the terms of any text that contains a needle.
func termsOfNeedle(needle []searchUnit) (terms []term) {
	for i, one := range needle {
		switch {
		case i+1 < len(needle) && needle[i+1].joined:
			terms = append(terms, term{one.text + needle[i+1].text, false})
		case one.joined: // the term of the preceding sign includes it
		default:
			// A single sign also matches in front of another one.
			terms = append(terms, term{one.text, one.begins || isSignText(one.text)})
		}
	}
	return terms
}

func isSignText(text string) bool {
	for _, r := range text {
		return isSign(r)
	}
	return false
}

// lite and postgres format the query for the engines. Terms consist of letters, digits, marks and pictures only, so
// that they cannot contain an operator.
func (w wanted) lite() string { return w.spell(`"`, `"`, `*`, " ") }

func (w wanted) postgres() string { return w.spell(`'`, `'`, `:*`, " & ") }

func (w wanted) spell(open, end, begins, and string) string {
	spelled := make([]string, len(w.terms))
	for i, one := range w.terms {
		spelled[i] = open + one.text + end
		if one.begins {
			spelled[i] += begins
		}
	}
	return strings.Join(spelled, and)
}

// exact reports whether a text with all terms may still lack a needle.
func (w wanted) exact() bool {
	return !slices.ContainsFunc(w.needles, func(needle []searchUnit) bool {
		return len(needle) > 2 || len(needle) == 2 && !needle[1].joined
	})
}

// in reports whether a text contains every needle.
func (w wanted) in(text string) bool {
	units := unitsOf(prepared(text))
	for _, needle := range w.needles {
		found := false
		for at := range units {
			if found = matches(units[at:], needle); found {
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// at returns the length, in units, of the longest needle at the start of a text, 0 for none.
func (w wanted) at(units []unit) (longest int) {
	for _, needle := range w.needles {
		if len(needle) > longest && matches(units, needle) {
			longest = len(needle)
		}
	}
	return longest
}

func matches(units []unit, needle []searchUnit) bool {
	if len(units) < len(needle) {
		return false
	}
	for i, one := range needle {
		u := units[i]
		if u.text != one.text && (!one.begins || !strings.HasPrefix(u.text, one.text)) || one.joined && !u.joined {
			return false
		}
	}
	return true
}
