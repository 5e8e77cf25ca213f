package remote

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// atTerminal makes commands that treat all their streams as terminals.
func atTerminal() *commands { return &commands{terminal: func(any) bool { return true }} }

// signalled is a writer that signals each prompt.
type signalled struct{ prompts chan string }

func (s signalled) Write(text []byte) (int, error) {
	s.prompts <- string(text)
	return len(text), nil
}

// Lines typed while the command asks nothing decide nothing, nor does the end of the input.
func TestOnlyWhatIsAskedForIsAnAnswer(t *testing.T) {
	t.Parallel()
	input, keyboard := io.Pipe()
	out := signalled{make(chan string)}
	cmd := &cobra.Command{}
	cmd.SetIn(input)
	cmd.SetErr(out)
	d, err := atTerminal().newDecider(cmd, nil, "ask")
	if err != nil {
		t.Fatal(err)
	}
	types := func(line string) {
		if _, err := io.WriteString(keyboard, line); err != nil {
			t.Error(err)
		}
	}
	types("y\n")
	types("yes, go on\n") // read only after the earlier lines were handled
	types("")
	for _, answer := range []string{"no", ""} {
		go func() {
			<-out.prompts
			types(answer + "\n")
		}()
		if got, err := d.line(t.Context(), "really? "); err != nil || got != answer {
			t.Fatalf("the answer is %q, %v; want %q", got, err, answer)
		}
	}
	go func() {
		<-out.prompts
		_ = keyboard.Close()
		<-out.prompts // the end of the line
	}()
	if got, err := d.line(t.Context(), "really? "); !errors.Is(err, errNoAnswer) {
		t.Errorf("after the end: %q, %v", got, err)
	}
	if _, open := <-d.lines; open {
		t.Error("the reader goes on")
	}
}

// Only terminals get colors, and only if the user wants them; text from agents cannot control the terminal.
func TestWhatTerminalsShow(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	var out bytes.Buffer
	if got := atTerminal().painted(&out, bold, "x"); got != "\x1b[1mx\x1b[0m" {
		t.Errorf("on a terminal: %q", got)
	}
	if got := (&commands{terminal: isTerminal}).painted(&out, bold, "x"); got != "x" {
		t.Errorf("in a pipe: %q", got)
	}
	t.Setenv("NO_COLOR", "1")
	if got := atTerminal().painted(&out, bold, "x"); got != "x" {
		t.Errorf("with NO_COLOR: %q", got)
	}
	const hostile = "a\x1b]0;title\x07\tb\u009b2J\r\nc\x7f"
	if got := harmless(hostile); got != "a]0;title\tb2J\nc" {
		t.Errorf("harmless: %q", got)
	}
	if got := oneLine(hostile, 4); got != "a ]0…" {
		t.Errorf("in a cell: %q", got)
	}
	if err := table(&out, []string{"A", "B"}, [][]string{{"x\ny", strings.Repeat("é", 61)}}); err != nil ||
		out.String() != "A    B\nx y  "+strings.Repeat("é", 60)+"…\n" {
		t.Errorf("a table: %v\n%s", err, out.String())
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if isTerminal(null) || isTerminal(&out) {
		t.Error("a pipe counts as a terminal")
	}
}
