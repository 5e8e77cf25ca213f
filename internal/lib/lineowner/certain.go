package lineowner

import "unicode"

const (
	// wordRunes is the least number of letters and digits of a line that says more than "}" or "return err".
	wordRunes = 10
	// commonTimes is how often a content has a line that does not say more than "}".
	commonTimes = 4
	// twinLines is how far away an equal line of another owner makes a line unclear.
	twinLines = 12
)

// Certain reports for each line of a content whether its owner is certain. A line between two of the same owner is, if
// one of them says more than "}". Any other line is only if it says more itself and no line nearby is equal but of
// another owner: a difference of two contents cannot tell those apart.
func Certain(text []string, lines Lines) []bool {
	owners, said := make([]string, len(text)), make([]string, len(text))
	telling, certain := make([]bool, len(text)), make([]bool, len(text))
	times := map[string]int{}
	for i, line := range text {
		owners[i], said[i] = lines.Owner(i+1), plain(line)
		times[said[i]]++
	}
	for i, line := range text {
		telling[i] = words(line) >= wordRunes && times[said[i]] < commonTimes
	}
	for i := range text {
		inside := i > 0 && i+1 < len(text) && owners[i-1] == owners[i] && owners[i+1] == owners[i]
		certain[i] = inside && (telling[i-1] || telling[i+1]) || (telling[i] || owners[i] == "") && !twin(i, owners, said)
	}
	return certain
}

// twin reports whether a line near line i is equal and of another owner.
func twin(i int, owners, said []string) bool {
	far := twinLines
	if owners[i] == "" {
		far /= 2 // no claim about anybody
	}
	for near := max(0, i-far); near < min(len(said), i+far+1); near++ {
		if said[near] == said[i] && owners[near] != owners[i] {
			return true
		}
	}
	return false
}

func words(line string) (n int) {
	for _, r := range line {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}
