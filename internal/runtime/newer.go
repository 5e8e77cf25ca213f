package runtime

import (
	"regexp"
	"strconv"
	"sync"
)

// Newer reports whether an agent's version is newer than all tested ones. It is false for a text without a version.
func Newer(version string, tested []string) bool {
	numbers := numbersOf(version)
	if numbers == nil || len(tested) == 0 {
		return false
	}
	for _, one := range tested {
		if !after(numbers, numbersOf(one)) {
			return false
		}
	}
	return true
}

var versionNumbers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d+)\.(\d+)\.(\d+)`) })

// numbersOf returns the numbers of the version in a text, nil when there is none.
func numbersOf(text string) []int {
	found := versionNumbers().FindStringSubmatch(text)
	if found == nil {
		return nil
	}
	numbers := make([]int, 0, len(found)-1)
	for _, digits := range found[1:] {
		number, err := strconv.Atoi(digits)
		if err != nil {
			return nil
		}
		numbers = append(numbers, number)
	}
	return numbers
}

func after(a, b []int) bool {
	for i := range b {
		if a[i] != b[i] {
			return a[i] > b[i]
		}
	}
	return false
}
