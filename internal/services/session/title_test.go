package session

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// A name is the first sentence of the first line with text, without markdown and in at most 60 characters. (TI-01)
func TestTitleOf(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"Fix the flaky login test. It fails at midnight.":         "Fix the flaky login test",
		"\n\n  \n# Fix **the** [login](https://x.y/z)?  And more": "Fix the login?",
		"Stop! Now":                      "Stop!",
		"see README.md for v1.2 of it":   "see README.md for v1.2 of it",
		"```go\nfunc main() {}\n```":     "func main() {}",
		"---\n- [ ] `make test` *fails*": "make test fails",
		"1. first\n2. second":            "first",
		"> quoted\ttext\x00here":         "quoted text here",
		"snake_case_name and 2*3*4":      "snake_case_name and 2*3*4",
		"Wait... there":                  "Wait...",
		"":                               "",
		" \n\t":                          "",
		"Rename the variable that holds the number of open connections of a node": "Rename the variable that holds the number of open…",
		strings.Repeat("x", 61): strings.Repeat("x", 59) + "…",
		strings.Repeat("x", 60): strings.Repeat("x", 60),
		"Ändere die Größe":      "Ändere die Größe",
	} {
		if got := TitleOf(message); got != want || utf8.RuneCountInString(got) > maxTitle {
			t.Errorf("%q is called %q, want %q", message, got, want)
		}
	}
}

func TestTitleOfAMessage(t *testing.T) {
	t.Parallel()
	part := func(text string) []json.RawMessage { return []json.RawMessage{json.RawMessage(text)} }
	for want, message := range map[string]Message{
		"Look at this":     {Text: "Look at this", Images: []string{"data:"}},
		"Image":            {Images: []string{"data:"}},
		"Image: shot.png":  {Input: part(`{"type":"localImage","path":"/tmp/shot.png"}`)},
		"do it":            {Text: "[message from session s \"New chat\", not from your user]\n> do it"},
		"From a front end": {Input: part(`{"type":"text","text":"From a front end"}`)},
		"":                 {Input: part(`{"type":"skill","name":"x"}`)},
	} {
		if got := message.Title(); got != want {
			t.Errorf("the session is called %q, want %q", got, want)
		}
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s      Session
		title  string
		source TitleSource
	}{
		{Session{Title: NewChatTitle}, Unnamed, TitleAuto},
		{Session{Title: NewChatTitle, Name: "Fix it"}, "Fix it", TitleAuto},
		{Session{Title: "Mine", Name: "Mine", TitleSource: TitleUser}, "Mine", TitleUser},
	} {
		if title, source := c.s.Shown(); title != c.title || source != c.source {
			t.Errorf("%+v is shown as %q by %q", c.s, title, source)
		}
	}
}
