package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxText is how much (bytes) of a text is found.
	maxText = 256 << 10
	// maxWord is how many bytes of a word count.
	maxWord = 64
	// maxWords bounds the words of a query.
	maxWords = 32
)

// eachWord gives the words of a text as they are compared, without case and accents, and where (bytes) each stands,
// until yield returns false. A word is a run of letters and digits; a sign of a script without spaces is one by itself.
func eachWord(text string, yield func(word string, from, to int) bool) {
	var word []byte
	from := -1
	flush := func(to int) bool {
		more := from < 0 || len(word) == 0 || yield(string(word), from, to)
		word, from = word[:0], -1
		return more
	}
	for at, r := range text {
		alone := unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
		within := unicode.IsLetter(r) || unicode.IsNumber(r) || from >= 0 && unicode.IsMark(r)
		if (alone || !within) && !flush(at) {
			return
		}
		if !within && !alone {
			continue
		}
		if from < 0 {
			from = at
		}
		if folded := fold(r); len(word)+len(folded) <= maxWord {
			word = append(word, folded...)
		}
		if alone && !flush(at+max(1, utf8.RuneLen(r))) {
			return
		}
	}
	flush(len(text))
}

func fold(r rune) string {
	r = unicode.ToLower(r)
	if r < utf8.RuneSelf {
		return string(r)
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsMark(r) || !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(string(r)))
}

// wordsOf are the different words of a text's beginning.
func wordsOf(text string) []string {
	if len(text) > maxText {
		text = text[:maxText]
	}
	seen := map[string]bool{}
	var words []string
	eachWord(text, func(word string, _, _ int) bool {
		if !seen[word] {
			seen[word] = true
			words = append(words, word)
		}
		return true
	})
	return words
}

// wanted are the words of a query. All are to be found; the last one may be the beginning of a word.
type wanted struct {
	words []string
	begun string
}

func parse(query string) (wanted, error) {
	words := []string{}
	eachWord(query, func(word string, _, _ int) bool {
		words = append(words, word)
		return true
	})
	if len(words) == 0 {
		return wanted{}, &QueryError{"there is no word to look for: give one letter or digit at least"}
	}
	last := words[len(words)-1]
	slices.Sort(words)
	words = slices.Compact(words)
	if len(words) > maxWords {
		return wanted{}, &QueryError{"there are too many words: give 32 at most"}
	}
	return wanted{slices.DeleteFunc(words, func(w string) bool { return w == last }), last}, nil
}

// lite and postgres spell the query for the engines. Words are letters and digits only, so that nothing in them is an
// operator.
func (w wanted) lite() string {
	terms := make([]string, 0, len(w.words)+1)
	for _, word := range w.words {
		terms = append(terms, `"`+word+`"`)
	}
	return strings.Join(append(terms, `"`+w.begun+`"*`), " ")
}

func (w wanted) postgres() string {
	terms := make([]string, 0, len(w.words)+1)
	for _, word := range w.words {
		terms = append(terms, "'"+word+"'")
	}
	return strings.Join(append(terms, "'"+w.begun+"':*"), " & ")
}

func (w wanted) has(word string) bool {
	return strings.HasPrefix(word, w.begun) || slices.Contains(w.words, word)
}
