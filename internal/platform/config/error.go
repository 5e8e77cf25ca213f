package config

import "fmt"

// Error is an invalid setting. Its text is one line with the variable, the value (never a secret) and the allowed
// values; the command prints it and exits 2.
type Error struct {
	Variable string // name of the variable, or the file at fault
	Value    string // as given; empty if it must not be shown
	Source   Source // source of the value; empty if there are several
	Allowed  string // accepted values, or the remedy
	hidden   bool
}

// Error implements error.
func (e *Error) Error() string {
	from := ""
	if e.Source != "" && e.Source != SourceDefault {
		from = fmt.Sprintf(" (from %s)", e.Source)
	}
	if e.hidden {
		return fmt.Sprintf("%s%s: the value (not shown, it is secret) is not allowed; allowed: %s", e.Variable,
			from, e.Allowed)
	}
	return fmt.Sprintf("%s%s: %q is not allowed; allowed: %s", e.Variable, from, e.Value, e.Allowed)
}

// FileError is a `.env` or config file that cannot be used as a whole. Its text is one line, which never quotes the
// file's content.
type FileError struct {
	Path   string
	Reason string
	Err    error // cause, when showing it cannot leak a value
}

// Error implements error.
func (e *FileError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Path, e.Reason, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Path, e.Reason)
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// RuleError is a combination of settings that cannot work together.
type RuleError struct {
	Variable string
	Reason   string // what is wrong and what to set
}

// Error implements error.
func (e *RuleError) Error() string { return e.Variable + ": " + e.Reason }

// UsageError is a command line that cannot be used, alone or together with the settings.
type UsageError struct{ Err error }

// Error implements error.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap implements errors.Unwrap.
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef returns a UsageError with a message formatted by fmt.Errorf.
func Usagef(format string, args ...any) error { return &UsageError{Err: fmt.Errorf(format, args...)} }
