package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A .env of another program does not stop the server, whatever its dialect, and our names in it are read as before.
func TestAForeignDotenvIsPassedOver(t *testing.T) {
	t.Parallel()
	const pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nPORT=9999\nabc=\n-----END PRIVATE KEY-----\n"
	for name, c := range map[string]struct {
		text string
		note string // "" for none
	}{
		"a byte order mark":        {"\ufeffPORT=4100\n", ""},
		"a name with a dash":       {"API-KEY=abc\nPORT=4100\n", ""},
		"a name with a dot":        {"spring.port=1\nPORT=4100\n", ""},
		"a key over lines":         {"PORT=4100\nKEY=\"" + pem + "\"\nX=1\n", ""},
		"a key in single quotes":   {"KEY='" + pem + "'\nPORT=4100\n", ""},
		"a bare key":               {"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nabcd==\nPORT=4100\n", "line 1"},
		"a command":                {"source ./other.env\nPORT=4100\n", "line 1"},
		"a dot command":            {"PORT=4100\n. ./other.env\n", "line 2"},
		"a bare name":              {"PORT=4100\nDEBUG\n", "line 2"},
		"a bare name of ours":      {"PORT=4100\nDATA_DIR\n", "line 2"},
		"exported bare names":      {"export A B\nexport PORT=4100\n", "line 1"},
		"a condition":              {"if [ -f x ]; then\n  A=1\nfi\nPORT=4100\n", "line 1"},
		"an open quote":            {"PORT=4100\nMSG=\"hello\nB=1\n", ""},
		"a quote in a value":       {"NAME=O'Brien\nPORT=4100\n", ""},
		"dollars of others":        {"A=$B\nC=${D:-x}\nE=$(cat f)\nPORT=4100\n", ""},
		"lines of Windows":         {"A=1\r\nPORT=4100\r\n", ""},
		"YAML":                     {"a: 1\nlist:\n  - x\nPORT: 4100\n", "line 3"},
		"no text":                  {"\x00\x01\xff\n\xfe\nPORT=4100\n", "line 1"},
		"no end":                   {"PORT=4100", ""},
		"what is not ours by case": {"port=1\nPORT=4100\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t).file(".env", c.text)
			config := p.mustLoad()
			if config.Port != 4100 {
				t.Errorf("the port is %d", config.Port)
			}
			if notes := strings.Join(config.Notes(), "; "); c.note == "" != (notes == "") || !strings.Contains(notes, c.note) {
				t.Errorf("noted is %q, want %q", notes, c.note)
			}
		})
	}
}

// An entry named .env that is not a regular file is ignored, without waiting for it. Such a config file is refused,
// also without waiting.
func TestNonRegularFileDoesNotBlock(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(path string) error{
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link to a pipe": func(path string) error {
			return errors.Join(syscall.Mkfifo(path+".p", 0o600), os.Symlink(path+".p", path))
		},
		"a device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"too much": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)) },
	} {
		p := newPlace(t)
		if err := errors.Join(make(filepath.Join(p.dir, ".env")), make(filepath.Join(p.dir, "c.yaml"))); err != nil {
			t.Fatal(name, err)
		}
		if c := p.mustLoad(); c.Port != 3001 || len(c.Notes()) != 1 {
			t.Errorf("%s: port %d, notes %q", name, c.Port, c.Notes())
		}
		p.env = []string{"HARNESS_CONFIG=c.yaml"}
		var refused *FileError
		if _, err := p.load(); !errors.As(err, &refused) {
			t.Errorf("%s as a config file: %v", name, err)
		}
	}
}

// An error in a config file is reported with its line, and an unknown name with the setting that was probably meant.
func TestFaultsHaveTheirLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text, says string }{
		"YAML":            {"c.yaml", "port: 1\nhost: [a\n", "line 2 "},
		"a tab":           {"c.yaml", "port: 1\n\thost: b\n", "line 2 "},
		"twice":           {"c.yaml", "port: 1\nhost: b\nport: 2\n", "line 3 "},
		"a list":          {"c.yaml", "- port\n", "line 1 "},
		"JSON":            {"c.json", "{\n\"port\": 1,\n}\n", "line 3 "},
		"an unknown name": {"c.yaml", "host: b\nprot: 1\n", `line 2: "prot" is no variable; did you mean PORT?`},
		"unknown in JSON": {"c.json", "{\"host\": \"b\",\n \"date_dir\": 1}\n", `line 2: "date_dir" is no variable; did you mean DATA_DIR?`},
		"nothing like it": {"c.yaml", "zzzzzzzz: 1\n", `line 1: "zzzzzzzz" is no variable; names`},
	} {
		p := newPlace(t).file(c.file, c.text)
		p.env = []string{"HARNESS_CONFIG=" + c.file}
		if _, err := p.load(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// The nearest name is the result of a typo, or of an added prefix.
func TestTheNearestName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"HARNESS_PROT": "PORT", "HARNESS_PORT": "PORT", "HARNESS_ALOWED_HOSTS": "HARNESS_ALLOWED_HOSTS", "HARNESS_DATADIR": "DATA_DIR",
		"HARNESS_DATABASE_URL": "DATABASE_URL", "HARNESS_LOGLEVEL": "LOG_LEVEL", "HARNESS_TOKN": "HARNESS_TOKEN",
		"HARNESS_AUTHTOKEN": "HARNESS_AUTH_TOKEN", "HARNESS_SOMETHING_ELSE_ENTIRELY": "",
	} {
		if got := Nearest(name); got != want {
			t.Errorf("nearest to %s is %q, want %q", name, got, want)
		}
	}
}
