package remote

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// wordFlag is the value of a flag that accepts one of a few words.
type wordFlag struct {
	value *string
	words []string
}

// String implements pflag.Value.
func (f wordFlag) String() string { return *f.value }

// Type implements pflag.Value.
func (f wordFlag) Type() string { return "string" }

// Set implements pflag.Value.
func (f wordFlag) Set(word string) error {
	if !slices.Contains(f.words, word) {
		return fmt.Errorf("must be %s", choice(f.words))
	}
	*f.value = word
	return nil
}

// choice returns "a, b or c".
func choice(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// OneOf adds a flag that accepts one of a few words, and offers them as completions. help ends before the words.
func OneOf(cmd *cobra.Command, value *string, name, preset, help string, words ...string) {
	*value = preset
	cmd.Flags().Var(wordFlag{value, words}, name, help+": "+choice(words))
	complete(cmd, name, words...)
}

// countFlag is the value of a flag that is a number from 1 to most.
type countFlag struct {
	value *int
	most  int
}

// String implements pflag.Value.
func (f countFlag) String() string { return strconv.Itoa(*f.value) }

// Type implements pflag.Value.
func (f countFlag) Type() string { return "int" }

// Set implements pflag.Value.
func (f countFlag) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > f.most {
		return fmt.Errorf("must be a whole number from 1 to %d", f.most)
	}
	*f.value = n
	return nil
}

// FlagError converts an error of a flag to a *UsageError that names the flag and the accepted values.
func FlagError(_ *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return &UsageError{err}
	}
	takes := map[string]string{"int": "must be a whole number", "int64": "must be a whole number", "bool": "must be true or false",
		"duration": "must be a duration such as 90s or 5m"}
	kind := invalid.GetFlag().Value.Type()
	if _, counts := invalid.GetFlag().Value.(countFlag); !counts && takes[kind] != "" {
		return usage("--%s %s, not %q", invalid.GetFlag().Name, takes[kind], invalid.GetValue())
	}
	return usage("--%s %w, not %q", invalid.GetFlag().Name, invalid.Unwrap(), invalid.GetValue())
}

// ArgumentsError names the missing or extra argument, with the words of a command's Use; nil if the number of arguments
// is valid.
func ArgumentsError(cmd *cobra.Command, args []string) error {
	words := strings.Fields(cmd.Use)[1:]
	for i, word := range words {
		if i >= len(args) && !strings.HasPrefix(word, "[") {
			return usage("missing %s; usage: %s", word, cmd.UseLine())
		}
	}
	if len(args) > len(words) {
		return usage("unexpected argument %q; usage: %s", args[len(words)], cmd.UseLine())
	}
	return nil
}

// NoCommand refuses arguments of a command that only has subcommands: the first argument names none of them.
func NoCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	meant := ""
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		meant = "; did you mean " + choice(like) + "?"
	}
	return usage("unknown command %q%s; %s --help lists all", args[0], meant, cmd.CommandPath())
}
