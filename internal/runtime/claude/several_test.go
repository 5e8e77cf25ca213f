package claude

import (
	"encoding/json"
	"testing"
)

// Several answers are one text that Claude Code splits by its own rule; a single answer stays unchanged.
func TestSeveralAnswersAreOneText(t *testing.T) {
	t.Parallel()
	input := json.RawMessage(`{"questions":[{"question":"Which ones?","multiSelect":true},{"question":"Which one?"}]}`)
	for answers, want := range map[string]string{
		`{"q1":{"answers":["a","b"]}}`:                                  `{"Which one?":"","Which ones?":"a, b"}`,
		`{"q1":{"answers":["a, b","\"c\""]}}`:                           `{"Which one?":"","Which ones?":"\"a, b\", \"\\\"c\\\"\""}`,
		`{"q1":{"answers":["a, b"]},"q2":{"answers":["say \"x, y\""]}}`: `{"Which one?":"say \"x, y\"","Which ones?":"\"a, b\""}`,
		`{"q1":{"answers":["line\nbreak","<é>"]}}`:                      `{"Which one?":"","Which ones?":"line\nbreak, <é>"}`,
	} {
		got, err := answeredQuestions(input, json.RawMessage(answers))
		var read struct{ Answers json.RawMessage }
		if err != nil || json.Unmarshal(got, &read) != nil || string(read.Answers) != want {
			t.Errorf("%s comes to %s (%v), not %s", answers, read.Answers, err, want)
		}
	}
}
