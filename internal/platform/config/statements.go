package config

import (
	"regexp"
	"strings"
	"sync"
)

// statement is an assignment in a .env: its lines, its name and its value.
type statement struct {
	line        int // the first one, from 1
	name, value string
	text        string
	open        bool // a quote is unclosed
}

// assignment matches the start of a line that is an assignment in any dialect.
var assignment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:export\s+)?([^\s=:#'"` + "`" + `]+)\s*[=:]\s*(.*)$`)
})

// statements returns the assignments in a .env, and the numbers of the other lines. A quoted value may span several
// lines, whatever they look like.
func statements(text string) (all []statement, others []int) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for at := 0; at < len(lines); at++ {
		line := lines[at]
		if blank := strings.TrimSpace(line); blank == "" || strings.HasPrefix(blank, "#") {
			continue
		}
		found := assignment().FindStringSubmatch(line)
		if found == nil {
			others = append(others, at+1)
			continue
		}
		one := statement{line: at + 1, name: found[1], value: found[2], text: line}
		if quote := firstOf(one.value); quote != 0 && !closes(one.value[1:], quote) {
			end := at + 1
			for end < len(lines) && !closes(lines[end], quote) {
				end++
			}
			if one.open = end == len(lines); !one.open {
				one.text = strings.Join(lines[at:end+1], "\n")
				at = end
			}
		}
		all = append(all, one)
	}
	return all, others
}

// firstOf returns the quote that starts a value, 0 for none.
func firstOf(value string) byte {
	if value != "" && (value[0] == '"' || value[0] == '\'') {
		return value[0]
	}
	return 0
}

// closes reports whether a quote ends in a text.
func closes(text string, quote byte) bool {
	for i := range len(text) {
		if text[i] == quote && (i == 0 || text[i-1] != '\\') {
			return true
		}
	}
	return false
}
