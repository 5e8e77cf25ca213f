package lineowner

import "unicode"

const (
	// wordRunes is the least number of letters and digits of a line that says more than "}" or "return err".
	wordRunes = 10
	// commonTimes is how often a content has a line that does not say more than "}".
	commonTimes = 4
)

// Certain reports for each line of a content whether its owner is certain. A line between two of the same owner is, if
// one of them says more than "}". Any other line is only if it says more itself, or has no owner: a difference of two
// contents cannot separate it from an equal line beside it.
func Certain(text []string, lines Lines) []bool {
	owners, certain := make([]string, len(text)), make([]bool, len(text))
	times := map[string]int{}
	for i, line := range text {
		owners[i] = lines.Owner(i + 1)
		times[plain(line)]++
	}
	distinct := func(i int) bool { return words(text[i]) >= wordRunes && times[plain(text[i])] < commonTimes }
	for i := range text {
		inside := i > 0 && i+1 < len(text) && owners[i-1] == owners[i] && owners[i+1] == owners[i]
		certain[i] = owners[i] == "" || distinct(i) || inside && (distinct(i-1) || distinct(i+1))
	}
	return certain
}

func words(line string) (n int) {
	for _, r := range line {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}
