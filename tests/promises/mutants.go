package promises

import (
	"errors"
	"fmt"
	"strings"
)

// Mutant is an edit of one product file that breaks a promise. The promise's tests must fail with it.
type Mutant struct {
	// Row is the promise that it breaks. What is the broken behavior in one sentence.
	Row, What string
	// File is the product file, with slashes and from the root of the repository. Old must occur in it exactly once, and
	// New replaces it.
	File, Old, New string
	// Tests must fail with it. Their names are as in Row.Tests, and they belong to the broken row.
	Tests []string
}

// Mutants reads the mutants. A line has the row's id and the broken behavior. Indented lines follow: "file" and the
// path, the removed lines ("- ") and the added lines ("+ "). A "test" line has names of tests, if not all of the
// row's tests should run.
func Mutants() ([]Mutant, error) {
	groups, err := Load()
	if err != nil {
		return nil, err
	}
	tests := map[string][]string{}
	for _, group := range groups {
		for _, row := range group.Rows {
			tests[row.ID] = row.Tests
		}
	}
	var mutants []Mutant
	err = eachLine("mutants", func(line string) (err error) {
		mutants, err = addMutant(mutants, line)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range mutants {
		if len(mutants[i].Tests) == 0 {
			mutants[i].Tests = tests[mutants[i].Row]
		}
	}
	return mutants, nil
}

func addMutant(mutants []Mutant, line string) ([]Mutant, error) {
	if strings.TrimSpace(line) == "" {
		return mutants, nil
	}
	if found := rowLine.FindStringSubmatch(line); found != nil {
		return append(mutants, Mutant{Row: found[1], What: found[2]}), nil
	}
	part, indented := strings.CutPrefix(line, "\t")
	if !indented || len(mutants) == 0 {
		return nil, fmt.Errorf("%q is no mutant (an id and a sentence that ends with a full stop) and no part of one", line)
	}
	mutant := &mutants[len(mutants)-1]
	word, rest, _ := strings.Cut(part, " ")
	switch word {
	case "file":
		mutant.File = rest
	case "-":
		mutant.Old = joinLines(mutant.Old, rest)
	case "+":
		mutant.New = joinLines(mutant.New, rest)
	case "test":
		mutant.Tests = append(mutant.Tests, strings.Fields(rest)...)
	default:
		return nil, fmt.Errorf("%q does not begin with file, -, + or test", part)
	}
	return mutants, nil
}

func joinLines(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}

// Apply returns the text of the mutant's file with the edit applied. It fails unless the old text occurs exactly
// once.
func (m Mutant) Apply(text string) (string, error) {
	switch {
	case m.Old == "" || m.Old == m.New:
		return "", errors.New("the edit changes nothing")
	case strings.Count(text, m.Old) != 1:
		return "", fmt.Errorf("%q stands in %s %d times; an edit needs a text that stands there once", m.Old, m.File,
			strings.Count(text, m.Old))
	}
	return strings.Replace(text, m.Old, m.New, 1), nil
}
