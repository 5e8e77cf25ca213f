package config

import (
	"slices"

	"github.com/spf13/pflag"
)

const (
	configFlag = "config"
	trustFlag  = "trust"
)

// trustEnv consents for one run. It is not a Variable because no file may set it.
const trustEnv = "HARNESS_TRUST"

// AddFlags defines --config, --trust and one flag for every variable that is not secret. The flags only collect text:
// Load parses and validates it, so that an invalid flag and an invalid variable give the same message. Help lists the
// flags for the location of a server's state; ShowCommonFlags and ShowAllFlags list more.
func AddFlags(fs *pflag.FlagSet) {
	fs.String(configFlag, "", "YAML or JSON config file ("+configEnv+")")
	f := fs.VarPF(&flagText{kind: "bool"}, trustFlag, "",
		"consent for this run to what is there at its start, .env and extensions ("+trustEnv+")")
	f.DefValue, f.NoOptDefVal = "false", "true"
	for _, v := range Variables() {
		if v.Flag() == "" {
			continue
		}
		usage := v.Doc + " (" + v.Name + ")"
		f := fs.VarPF(&flagText{kind: v.Type()}, v.Flag(), "", usage)
		f.DefValue, f.Hidden = v.Default, !slices.Contains(placeFlags(), v.Flag())
		if v.Type() == "bool" {
			f.NoOptDefVal = "true"
		}
	}
	addGoneFlags(fs)
}

// placeFlags set where a server keeps its state: commands that inspect this machine need them.
func placeFlags() []string { return []string{"data-dir", "database-url"} }

// commonFlags are the flags that most people set for a server.
func commonFlags() []string {
	return []string{"host", "port", "public-url", "allowed-hosts", "allowed-origins", "insecure-no-auth", "log-level",
		"workspace", "runtimes", "default-runtime", "default-approval-policy", "default-sandbox-mode", "default-network-access",
		"allow-yolo", "runtime-user", "runtime-confine", "tools"}
}

// ShowCommonFlags makes the help list the flags that most people set for a server.
func ShowCommonFlags(fs *pflag.FlagSet) { show(fs, commonFlags()) }

// ShowAllFlags makes the help list every setting of a server.
func ShowAllFlags(fs *pflag.FlagSet) {
	for _, v := range Variables() {
		show(fs, []string{v.Flag()})
	}
}

func show(fs *pflag.FlagSet, names []string) {
	for _, name := range names {
		if f := fs.Lookup(name); f != nil {
			f.Hidden = false
		}
	}
}

// flagText is the text given on the command line.
type flagText struct{ text, kind string }

func (f *flagText) String() string { return f.text }

func (f *flagText) Set(s string) error { f.text = s; return nil }

func (f *flagText) Type() string { return f.kind }

// flagLayer returns the given flags, and only those.
func flagLayer(fs *pflag.FlagSet) layer {
	values := make(map[string]any)
	if fs == nil {
		return layer{SourceFlag, values}
	}
	for _, v := range Variables() {
		if v.Flag() == "" {
			continue
		}
		if f := fs.Lookup(v.Flag()); f != nil && f.Changed {
			values[v.Key()] = f.Value.String()
		}
	}
	return layer{SourceFlag, values}
}
