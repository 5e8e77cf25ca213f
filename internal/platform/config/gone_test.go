package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// maxSettings bounds the number of settings that an operator has to read; OTEL_* come from the standard. Four came last:
// HARNESS_TRACES_GENAI, because conventions in development must not change spans that operators read, HARNESS_DOORS,
// because an operator must be able to close a protocol that is open by default, HARNESS_CONTROL_AGENTS, because agents
// control nothing unless an operator wants that, and HARNESS_CHECKPOINTS, because copies of people's files are stored.
const maxSettings = 114

func TestSettingsAreFew(t *testing.T) {
	t.Parallel()
	n := 0
	for _, v := range Variables() {
		if !strings.HasPrefix(v.Name, "OTEL_") {
			n++
		}
	}
	if n > maxSettings {
		t.Errorf("there are %d settings, which is more than %d", n, maxSettings)
	}
}

// The name of a former setting is refused wherever it is set, with its replacement and without its value.
func TestRemovedSettingsAreRefused(t *testing.T) {
	t.Parallel()
	const value = "canary"
	for _, one := range goneVariables() {
		if _, still := find(one.name); still {
			t.Errorf("%s is a setting", one.name)
		}
		refused := func(source string, err error) {
			t.Helper()
			switch {
			case err == nil:
				t.Errorf("%s is accepted from %s", one.name, source)
			case !strings.Contains(err.Error(), one.name) || !strings.Contains(err.Error(), one.instead):
				t.Errorf("%s from %s does not name what replaces it: %v", one.name, source, err)
			case strings.Contains(err.Error(), value) || strings.Contains(err.Error(), "\n"):
				t.Errorf("%s from %s shows its value or has several lines: %v", one.name, source, err)
			}
		}
		p := envPlace(t, one.name+"="+value)
		_, err := p.load()
		refused("the environment", err)
		var usage *UsageError
		if !errors.As(err, &usage) {
			t.Errorf("%s from the environment is no usage error: %v", one.name, err)
		}
		if _, err := envPlace(t, one.name+"=").load(); err != nil {
			t.Errorf("%s is refused while it is empty: %v", one.name, err)
		}
		_, err = newPlace(t).file(".env", "X=1\n"+one.name+"="+value+"\n").load()
		refused(".env", err)
		_, err = envPlace(t, "HARNESS_CONFIG=c.yaml").file("c.yaml", strings.ToLower(one.name)+": "+value+"\n").load()
		refused("a file", err)
	}
}

// A removed flag is refused with its replacement, with a value and without one, and no help lists it.
func TestRemovedFlagsAreRefused(t *testing.T) {
	t.Parallel()
	for _, one := range goneVariables() {
		flag := Variable{Name: one.name}.Flag()
		for _, args := range [][]string{{"--" + flag}, {"--" + flag + "=1"}, {"--" + flag, "1"}} {
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			AddFlags(fs)
			ShowAllFlags(fs)
			if err := fs.Parse(args); err == nil || !strings.Contains(err.Error(), one.instead) {
				t.Errorf("%v: %v", args, err)
			}
			if f := fs.Lookup(flag); f == nil || !f.Hidden {
				t.Errorf("--%s is shown", flag)
			}
		}
	}
}
