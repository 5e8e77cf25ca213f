// Package telemetry owns the process's log lines, metrics and trace ids, and ensures that they never contain a secret.
//
// It must never know what a session or a runtime is beyond its id, and it imports no other package: callers pass in
// settings and secrets.
package telemetry

import (
	"io"
	"os"
	"time"

	"harness/internal/lib/javascript"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"
)

// LogOptions configure the process's log.
type LogOptions struct {
	Level   string    // as in LOG_LEVEL; "silent" logs nothing, "" is info
	Format  string    // as in HARNESS_LOG_FORMAT: json, console or auto
	Out     io.Writer // nil is standard error
	Secrets []string  // values that must never reach a line
}

// NewLogger builds the process's logger. Its lines carry "time" in UTC with
// milliseconds and pass the redactor before any formatting.
func NewLogger(o LogOptions) zerolog.Logger {
	if o.Out == nil {
		o.Out = os.Stderr
	}
	out := o.Out
	if o.Format == "console" || (o.Format != "json" && isTerminal(o.Out)) {
		out = zerolog.ConsoleWriter{Out: o.Out, TimeFormat: "15:04:05.000", NoColor: !isTerminal(o.Out)}
	}
	return zerolog.New(NewRedactor(o.Secrets...).Lines(out)).Level(level(o.Level)).Hook(stamp{})
}

// level translates pino's names, which LOG_LEVEL keeps.
func level(name string) zerolog.Level {
	switch name {
	case "silent":
		return zerolog.Disabled
	case "":
		return zerolog.InfoLevel
	}
	l, err := zerolog.ParseLevel(name)
	if err != nil { // package config refuses such names; if one gets here, log more rather than less
		return zerolog.InfoLevel
	}
	return l
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// stamp adds the time. zerolog's own timestamp has only whole seconds, unless a global variable of the library is
// changed for all its users.
type stamp struct{}

// Run implements zerolog.Hook.
func (stamp) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	e.Str(zerolog.TimestampFieldName, time.Now().UTC().Format(javascript.TimeLayout))
}
