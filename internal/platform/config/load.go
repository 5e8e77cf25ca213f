package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

// Options are the sources that Load reads.
type Options struct {
	Flags   *pflag.FlagSet // prepared by AddFlags and parsed; nil for none
	Environ []string       // as os.Environ gives it
	Dir     string         // folder of `.env` and of relative paths; "" is the working directory
	Consent Consent        // called before a `.env`, or a config file that it names, counts; nil consents to all
}

// Consent reports whether the operator consented to a file with this content; the error explains how to consent.
type Consent func(path string, content []byte) error

// layer is one source with its raw values, by Key.
type layer struct {
	source Source
	values map[string]any
}

// Load reads every source, validates and returns the configuration. Its error
// is an *Error, *FileError or *RuleError: one line, without secrets.
func Load(o Options) (*Config, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("config: find the working directory: %w", err)
	}
	trust, err := trusts(o.Flags, o.Environ)
	if err != nil {
		return nil, err
	}
	if trust {
		o.Consent = nil
	}
	if err := refuseGone(o.Environ); err != nil {
		return nil, err
	}
	read, err := readSources(o, dir)
	if err != nil {
		return nil, err
	}
	merged := koanf.New("\x00") // keys are flat: a delimiter that no key contains
	origins := make(map[string]Source)
	for _, l := range read.layers {
		if err := merged.Load(confmap.Provider(l.values, ""), nil); err != nil {
			return nil, fmt.Errorf("config: merge the values of %s: %w", l.source, err)
		}
		for key := range l.values {
			origins[strings.ToUpper(key)] = l.source
		}
	}
	c, err := build(merged, origins, dir)
	if err == nil {
		c.files, c.unknown, c.notes, c.Trust = read.files, read.unknown, read.notes, trust
	}
	return c, err
}

// sources holds the layers, weakest first, and the paths of their files, existing or not. It also holds the names that
// look like ours but are not settings. notes describe the ignored parts of the files.
type sources struct {
	layers  []layer
	files   []string
	unknown []string
	notes   []string
}

func readSources(o Options, dir string) (sources, error) {
	file := filepath.Join(dir, ".env")
	dotenv, err := dotenvLayer(file, o.Consent)
	if err != nil {
		return sources{}, err
	}
	read := sources{layers: []layer{{SourceDefault, defaults()}}, files: []string{file}, notes: dotenv.notes}
	read.unknown = append(unknownNames(environNames(o.Environ)), dotenv.unknown...)
	if path := configPath(o.Flags, o.Environ); path != "" || dotenv.path != "" {
		consent := Consent(nil) // naming it on the command line or in the environment is consent
		if path == "" {
			path, consent = dotenv.path, o.Consent
		}
		path = absolute(dir, path)
		file, err := fileLayer(path, consent)
		if err != nil {
			return sources{}, err
		}
		read.layers, read.files = append(read.layers, file), append(read.files, path)
	}
	read.layers = append(read.layers, layer{SourceDotenv, dotenv.values}, environLayer(o.Environ), flagLayer(o.Flags))
	return read, nil
}

func build(merged *koanf.Koanf, sources map[string]Source, dir string) (*Config, error) {
	c := &Config{sources: sources}
	for _, v := range Variables() {
		raw, ok := rawText(merged.Get(v.Key()), v)
		if !ok || !v.set(c, raw, dir) {
			return nil, v.refuse(raw, sources[v.Name])
		}
	}
	c.setAmounts()
	c.setStore()
	c.setTools()
	c.setBasePath()
	if err := c.checkRules(); err != nil {
		return nil, err
	}
	return c, nil
}

func (v Variable) refuse(raw string, from Source) *Error {
	e := &Error{Variable: v.Name, Value: raw, Source: from, Allowed: v.Accepts()}
	// A URL that cannot be parsed cannot be redacted in part.
	if v.Secret || v.show != nil {
		e.Value, e.hidden = "", true
	}
	return e
}

func defaults() map[string]any {
	values := make(map[string]any)
	for _, v := range Variables() {
		values[v.Key()] = v.Default
	}
	return values
}

// environLayer reads the known variables. An empty one counts as unset, so that "CODEX_HOME=" in a template has no
// effect, except for variables for which empty is a value.
func environLayer(environ []string) layer {
	values := make(map[string]any)
	for _, v := range Variables() {
		if raw, set := lookup(environ, v.Name); raw != "" || set && v.emptySet {
			values[v.Key()] = raw
		}
	}
	return layer{SourceEnvironment, values}
}

// configPath finds the config file the operator names: --config, then
// HARNESS_CONFIG.
func configPath(flags *pflag.FlagSet, environ []string) string {
	if flags != nil {
		if f := flags.Lookup(configFlag); f != nil && f.Changed {
			return f.Value.String()
		}
	}
	path, _ := lookup(environ, configEnv)
	return path
}

// trusts reports whether this run consents to the files it finds: --trust, or HARNESS_TRUST in the environment. No file
// can consent.
func trusts(flags *pflag.FlagSet, environ []string) (bool, error) {
	raw, _ := lookup(environ, trustEnv)
	from := SourceEnvironment
	if flags != nil {
		if f := flags.Lookup(trustFlag); f != nil && f.Changed {
			raw, from = f.Value.String(), SourceFlag
		}
	}
	if raw != "" && raw != "true" && raw != "false" {
		return false, &Error{Variable: trustEnv, Value: raw, Source: from, Allowed: "true, false"}
	}
	return raw == "true", nil
}

// lookup returns the last assignment to name, as a shell would, and whether there is one.
func lookup(environ []string, name string) (value string, set bool) {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, set = strings.CutPrefix(environ[i], name+"="); set {
			return value, true
		}
	}
	return "", false
}

// FromProcess is Load for the running process: its environment, its working
// directory and the given flags.
func FromProcess(flags *pflag.FlagSet, consent Consent) (*Config, error) {
	return Load(Options{Flags: flags, Environ: os.Environ(), Consent: consent})
}
