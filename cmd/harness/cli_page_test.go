package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"harness/internal/platform/config"
)

const cliPage = "../../docs/cli.md"

// The page about the command line is generated from the commands. HARNESS_UPDATE=1 regenerates it.
func TestTheCommandPageIsCurrent(t *testing.T) {
	const begin = "<!-- made from the commands: HARNESS_UPDATE=1 go test ./cmd/harness -run TestTheCommandPageIsCurrent -->\n"
	written, err := os.ReadFile(cliPage)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(written), begin)
	if !found {
		t.Fatalf("%s has no place for the commands", cliPage)
	}
	var out strings.Builder
	out.WriteString(before + begin)
	describeCommands(&out, newRoot(nil))
	if os.Getenv("HARNESS_UPDATE") != "" {
		if err := os.WriteFile(cliPage, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(written) != out.String() {
		t.Errorf("%s is out of date; write it anew with HARNESS_UPDATE=1", cliPage)
	}
}

// describeCommands prints each command's description and its own flags. The server's settings have a separate page, and
// flags of most commands are listed above.
func describeCommands(out *strings.Builder, cmd *cobra.Command) {
	everywhere := []string{"help", "url", "token-file", "profile", "output", "quiet"}
	for _, one := range cmd.Commands() {
		if one.Hidden || one.Name() == "help" || one.Name() == "completion" {
			continue
		}
		what := one.Short
		if one.Long != "" {
			what = one.Long
		}
		out.WriteString("\n### `" + strings.TrimSuffix(one.UseLine(), " [flags]") + "`\n\n" + strings.ReplaceAll(what, "\n  ", "\n    ") + "\n")
		first := true
		one.NonInheritedFlags().VisitAll(func(flag *pflag.Flag) {
			if flag.Hidden || slices.Contains(everywhere, flag.Name) || slices.ContainsFunc(config.Variables(), func(v config.Variable) bool {
				return strings.HasSuffix(flag.Usage, "("+v.Name+")")
			}) {
				return
			}
			if first {
				out.WriteString("\n")
			}
			first = false
			name := "`--" + flag.Name + "`"
			if flag.Shorthand != "" {
				name = "`-" + flag.Shorthand + "`, " + name
			}
			out.WriteString("- " + name + ": " + flag.Usage + "\n")
		})
		describeCommands(out, one)
	}
}
