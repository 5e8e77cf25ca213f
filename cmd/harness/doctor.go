package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"harness/internal/platform/config"
)

// How a finding of the doctor is meant: a server works with warnings, and does not with what is broken.
const (
	findingOK      = "ok"
	findingWarning = "warning"
	findingBroken  = "broken"
)

// finding is one line of the doctor's.
type finding struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	Message string `json:"message"`
	// Remedy is what to do, "" when the message says it or there is nothing.
	Remedy string `json:"remedy,omitempty"`
}

// doctor looks at what a server of this configuration would find here. It changes nothing and takes no lock.
type doctor struct {
	cfg       *config.Config
	workspace string
	own       string
	consents  *consents
	scrubs    bool
	found     []finding
}

func newDoctor() *cobra.Command {
	var asJSON, scrubs, salvages bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what is wrong with this machine, this configuration and the server, and what to do",
		Long: "Tell what is wrong with this machine, this configuration and the server, and what to do: one line each. Nothing is changed.\n" +
			"Exit code 1 when something is broken; warnings do not count. Run it as the server's user, in its working directory, with its settings.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if salvages {
				return salvage(cmd)
			}
			found, err := examine(cmd.Context(), cmd.Flags(), scrubs)
			if err != nil {
				return err
			}
			return report(cmd.OutOrStdout(), found, asJSON)
		},
	}
	config.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&scrubs, "scrub", false, "look at every row of the database as well; names those that are damaged")
	cmd.Flags().BoolVar(&salvages, "salvage", false, "set a log of SQLite aside that is refused as damaged, and go on without it")
	cmd.MarkFlagsMutuallyExclusive("scrub", "salvage")
	addJSON(cmd, &asJSON, "print the findings as JSON, for scripts")
	return cmd
}

// examine makes all the findings.
func examine(ctx context.Context, flags *pflag.FlagSet, scrubs bool) ([]finding, error) {
	d := &doctor{scrubs: scrubs}
	d.ok("harness", "version %s on %s/%s, as user %d", version, runtime.GOOS, runtime.GOARCH, os.Geteuid())
	cfg, err := loadConfig(flags)
	if err != nil {
		d.broken("settings", err.Error(), "")
		return d.found, nil // what they would be cannot be told
	}
	d.cfg, d.consents = cfg, newConsents(cfg.Trust)
	if d.workspace, err = os.Getwd(); err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	if d.own, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("find the own program: %w", err)
	}
	for _, note := range cfg.Notes() {
		d.warn("settings", note, "settings of the server go into a file of their own, named by HARNESS_CONFIG")
	}
	if unknown := cfg.Unknown(); len(unknown) > 0 {
		d.warn("settings", strings.Join(withNearest(unknown), ", ")+" in the environment or .env: no such setting, so without effect",
			"harness config print lists them")
	} else {
		d.ok("settings", "they can be used; harness config print shows them")
	}
	d.confinement(ctx)
	d.runtime(ctx)
	d.providers()
	if d.dataDir() {
		d.database(ctx)
	}
	d.objects(ctx)
	d.space()
	d.retention()
	d.listening(ctx)
	d.access(ctx)
	d.extensions(ctx)
	d.tokens()
	return d.found, nil
}

func (d *doctor) ok(name, format string, args ...any) {
	d.add(finding{name, findingOK, fmt.Sprintf(format, args...), ""})
}

func (d *doctor) warn(name, message, remedy string) {
	d.add(finding{name, findingWarning, message, remedy})
}

func (d *doctor) broken(name, message, remedy string) {
	d.add(finding{name, findingBroken, message, remedy})
}

// add keeps a finding on one line: errors of drivers come on several.
func (d *doctor) add(f finding) {
	f.Message = strings.Join(strings.Fields(f.Message), " ")
	d.found = append(d.found, f)
}

// report prints the findings; its error is that something is broken.
func report(out io.Writer, found []finding, asJSON bool) error {
	broken := 0
	for _, f := range found {
		if f.Status == findingBroken {
			broken++
		}
	}
	var err error
	if asJSON {
		err = printJSON(out, map[string]any{"ok": broken == 0, "findings": found})
	} else {
		err = printFindings(out, found)
	}
	if err == nil && broken > 0 {
		err = fmt.Errorf("%d of %d findings are broken", broken, len(found))
	}
	return err
}

func printFindings(out io.Writer, found []finding) error {
	for _, f := range found {
		line := fmt.Sprintf("%-8s %-12s %s", f.Status, f.Name, f.Message)
		if f.Remedy != "" {
			line += "; remedy: " + f.Remedy
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

// withNearest names the setting that was likely meant beside each name that is none.
func withNearest(unknown []string) (all []string) {
	for _, name := range unknown {
		if nearest := config.Nearest(name); nearest != "" {
			name += " (did you mean " + nearest + "?)"
		}
		all = append(all, name)
	}
	return all
}
