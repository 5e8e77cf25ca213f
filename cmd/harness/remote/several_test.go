package remote

import (
	"slices"
	"testing"
)

// A line answers a question with its text or with numbers of options; if several answers are allowed, also with a list.
func TestALineAnswersAQuestion(t *testing.T) {
	t.Parallel()
	one := question{Options: []struct{ Label, Description string }{{Label: "a, b"}, {Label: `"c"`}, {Label: "d"}}}
	several := one
	several.Multiple = true
	for _, test := range []struct {
		of   question
		line string
		want []string
	}{
		{one, "1", []string{"a, b"}}, {one, "1, 2", []string{"1, 2"}}, {one, "7", []string{"7"}},
		{several, "1", []string{"a, b"}}, {several, "1, 2", []string{"a, b", `"c"`}}, {several, "3 1", []string{"d", "a, b"}},
		{several, "1 or 2", []string{"1 or 2"}}, {several, `["x, y","\"z\""]`, []string{"x, y", `"z"`}},
	} {
		if got := test.of.answers(test.line); !slices.Equal(got, test.want) {
			t.Errorf("%q answers %q, not %q", test.line, got, test.want)
		}
	}
}
