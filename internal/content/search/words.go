package search

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxText is the number of bytes of a text that are indexed.
	maxText = 256 << 10
	// maxWord is the number of significant bytes of a word.
	maxWord = 64
	// maxWords bounds the words of a query.
	maxWords = 32
)

// unit is a part of a text for comparison, without case and accents, and its position (bytes). A unit is a word, which
// is a run of letters and digits, or one sign. Scripts have signs if they do not separate words or if their words grow
// at the end.
type unit struct {
	text     string
	from, to int
	sign     bool
	// joined means that the unit directly before it is a sign, too.
	joined bool
}

// unitsOf splits a text into units.
func unitsOf(text string) (units []unit) {
	var open unit // the unit being extended; it has no text before its first letter
	flush := func() {
		if open.text != "" {
			units = append(units, open)
		}
		open = unit{}
	}
	for at, r := range text {
		end := at + utf8.RuneLen(r)
		if r == utf8.RuneError {
			end = at + 1
		}
		switch {
		case ignored(r):
			if open.text != "" {
				open.to = end
			}
		case unicode.IsMark(r) || r == '\uff9e' || r == '\uff9f': // half-width marks of katakana are letters by name
			if open.text != "" {
				open.add(fold(r), end)
			}
		case isSign(r):
			flush()
			before := len(units) - 1
			open = unit{from: at, sign: true, joined: before >= 0 && units[before].sign && units[before].to == at}
			open.add(fold(r), end)
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			if open.sign || open.text == "" {
				flush()
				open.from = at
			}
			open.add(fold(r), end)
		default:
			flush()
		}
	}
	flush()
	return units
}

func (u *unit) add(folded string, to int) {
	if len(u.text)+len(folded) <= maxWord {
		u.text += folded
	}
	u.to = to
}

// ignored reports characters that only control how others are drawn, or where a line may break.
func ignored(r rune) bool { return r == '\u200c' || r == '\u200d' || r == '\u00ad' || r == '\u2060' }

// isSign reports letters that are units by themselves: those of Chinese, Japanese, Thai, Lao, Khmer and Burmese, and of
// Korean, which attaches to words what other languages write separately. Pictures are, too.
func isSign(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Thai,
		unicode.Lao, unicode.Khmer, unicode.Myanmar) && !unicode.IsPunct(r) && !unicode.IsDigit(r) ||
		r == 'ー' || r == 'ｰ' || unicode.Is(unicode.So, r) && r != utf8.RuneError
}

// fold returns a letter without case, accents and other marks that do not distinguish words.
func fold(r rune) string {
	r = unicode.ToLower(r)
	if r < utf8.RuneSelf {
		return string(r)
	}
	if plain, is := spelled(r); is {
		return plain
	}
	var folded []rune
	for _, part := range norm.NFKD.String(string(r)) {
		if !dropped(part) && (unicode.IsLetter(part) || unicode.IsNumber(part) || unicode.IsMark(part) || unicode.Is(unicode.So, part)) {
			folded = append(folded, unicode.ToLower(part))
		}
	}
	return norm.NFC.String(string(folded))
}

// spelled returns the usual replacement for a letter that many keyboards lack.
func spelled(r rune) (string, bool) {
	switch r {
	case 'ß':
		return "ss", true
	case 'æ':
		return "ae", true
	case 'œ':
		return "oe", true
	case 'þ':
		return "th", true
	case 'ø':
		return "o", true
	case 'đ', 'ð':
		return "d", true
	case 'ħ':
		return "h", true
	case 'ı':
		return "i", true
	case 'ł':
		return "l", true
	case 'ς':
		return "σ", true
	case 'ى', 'ی':
		return "ي", true
	case 'ک':
		return "ك", true
	case 'ة':
		return "ه", true
	case 'ـ':
		return "", true
	}
	return "", false
}

// dropped reports marks that do not distinguish words: accents, the points of Hebrew and Arabic, and dots that turn a
// letter of an Indian script into one of another language. The vowels of those scripts, and the voicing marks of kana,
// do distinguish words.
func dropped(r rune) bool {
	switch r {
	case '\u3099', '\u309a': // voiced kana
		return false
	case '\u093c', '\u09bc', '\u0a3c', '\u0abc', '\u0b3c', '\u0cbc':
		return true
	}
	return unicode.IsMark(r) && unicode.In(r, unicode.Inherited, unicode.Hebrew, unicode.Arabic, unicode.Cyrillic, unicode.Syriac)
}

// prepared returns the indexed part of a text, with its letters composed.
func prepared(text string) string {
	if len(text) > maxText {
		text = text[:start(text, maxText)]
	}
	return norm.NFC.String(text)
}

// termsOf returns the distinct terms of a text's indexed part: its words, and each sign with the next one, or alone at
// the end of a run.
func termsOf(text string) (terms []string) {
	seen := map[string]bool{}
	add := func(term string) {
		if !seen[term] {
			seen[term] = true
			terms = append(terms, term)
		}
	}
	units := unitsOf(prepared(text))
	for i, u := range units {
		if u.sign && i+1 < len(units) && units[i+1].joined {
			add(u.text + units[i+1].text)
		} else {
			add(u.text)
		}
	}
	return terms
}
