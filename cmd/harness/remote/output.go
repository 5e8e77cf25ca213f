package remote

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
)

// IsTerminal reports whether a file is a terminal.
func IsTerminal(file *os.File) bool { return isTerminal(file) }

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	file, is := stream.(*os.File)
	if !is {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && file.Name() != os.DevNull
}

// table prints rows under a heading.
func table(out io.Writer, heading []string, rows [][]string) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, row := range append([][]string{heading}, rows...) {
		for i, cell := range row {
			row[i] = oneLine(cell, 60)
		}
		_, _ = fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	return w.Flush()
}

// oneLine formats a text for a cell: it removes control characters that agents or people wrote, and truncates the text.
func oneLine(text string, longest int) string {
	var out strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > longest {
			return out.String() + "…"
		}
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			r = ' '
		}
		out.WriteRune(r)
	}
	return out.String()
}

// harmless returns a text of several lines without terminal control characters.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}

// The terminal colors, by their codes.
const (
	bold   = "1"
	dim    = "2"
	yellow = "33"
)

// painted returns a text in a color if the output is a terminal and NO_COLOR is not set (no-color.org).
func (c *commands) painted(out io.Writer, code, text string) string {
	if !c.terminal(out) || os.Getenv("NO_COLOR") != "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// since returns how long ago a time in seconds was.
func since(seconds int) string {
	ago := time.Since(time.Unix(int64(seconds), 0)).Round(time.Second)
	switch {
	case ago < time.Minute:
		return ago.String()
	case ago < time.Hour:
		return fmt.Sprintf("%dm", int(ago.Minutes()))
	case ago < 48*time.Hour:
		return fmt.Sprintf("%dh", int(ago.Hours()))
	}
	return fmt.Sprintf("%dd", int(ago.Hours()/24))
}

// text returns the value of a pointer, "" for nil.
func text[T ~string](value *T) string {
	if value == nil {
		return ""
	}
	return string(*value)
}

// given returns a pointer to a flag's value, nil for a flag that was not set.
func given[T ~string](value string) *T {
	if value == "" {
		return nil
	}
	made := T(value)
	return &made
}
