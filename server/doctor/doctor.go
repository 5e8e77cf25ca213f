// Package doctor examines a configuration on this machine, and suggests repairs.
//
// It changes nothing, takes no lock and must never know how its findings are shown.
package doctor

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"harness/internal/lib/version"
	"harness/internal/platform/config"
	"harness/server/datadir"
)

// Severities of a finding: a server works with warnings, but not with broken parts.
const (
	OK      = "ok"
	Warning = "warning"
	Broken  = "broken"
)

// Finding is one line of the doctor's report.
type Finding struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	Message string `json:"message"`
	// Remedy is the repair, "" if the message includes it or none exists.
	Remedy string `json:"remedy,omitempty"`
}

// doctor checks a configuration. It changes nothing and takes no lock.
type doctor struct {
	cfg       *config.Config
	workspace string
	own       string
	consents  *datadir.Consents
	scrubs    bool
	found     []Finding
}

// Examine runs all checks and returns the findings.
func Examine(ctx context.Context, flags *pflag.FlagSet, scrubs bool) ([]Finding, error) {
	d := &doctor{scrubs: scrubs}
	d.ok("harness", "version %s on %s/%s, as user %d", version.Program(), runtime.GOOS, runtime.GOARCH, os.Geteuid())
	cfg, err := datadir.LoadConfig(flags)
	if err != nil {
		d.broken("settings", err.Error(), "")
		return d.found, nil // the other checks depend on them
	}
	d.cfg, d.consents = cfg, datadir.NewConsents(cfg.Trust)
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
		d.warn("settings", strings.Join(WithNearest(unknown), ", ")+" in the environment or .env: no such setting, so without effect",
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
	d.logins()
	d.extensions(ctx)
	d.tokens()
	return d.found, nil
}

func (d *doctor) ok(name, format string, args ...any) {
	d.add(Finding{name, OK, fmt.Sprintf(format, args...), ""})
}

func (d *doctor) warn(name, message, remedy string) {
	d.add(Finding{name, Warning, message, remedy})
}

func (d *doctor) broken(name, message, remedy string) {
	d.add(Finding{name, Broken, message, remedy})
}

// add records a finding as one line: errors of drivers may have several lines.
func (d *doctor) add(f Finding) {
	f.Message = strings.Join(strings.Fields(f.Message), " ")
	d.found = append(d.found, f)
}

// WithNearest adds the most similar setting to each unknown name.
func WithNearest(unknown []string) (all []string) {
	for _, name := range unknown {
		if nearest := config.Nearest(name); nearest != "" {
			name += " (did you mean " + nearest + "?)"
		}
		all = append(all, name)
	}
	return all
}
