package process

import (
	_ "embed" // the child's script is part of the binary
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"harness/extensions"
	"harness/extensions/js/bundle"
)

//go:embed host.mjs
var nodeHost []byte

// command is the command line of an extension, made once per load; a restart runs the same code.
type command struct {
	path string
	args []string
	// files are the files to write into the child's folder before it starts. "{dir}" in args stands for that folder.
	files map[string][]byte
	// script is the file in the folder that the child should import, "" for none.
	script string
	// uses are the globals that the script uses.
	uses []bundle.Use
	// runs are the files that the command runs.
	runs []string
}

const (
	hostFile   = "host.mjs"
	scriptFile = "extension.mjs"
	dirMarker  = "{dir}"
)

func (h *Host) command(source extensions.Source) (command, error) {
	if len(source.Runtime.Command) > 0 {
		path, err := program(source.Root, source.Runtime.Command[0])
		return command{path: path, args: source.Runtime.Command[1:], runs: named(source)}, err
	}
	if source.Runtime.Host != "node" {
		return command{}, errors.New(`the manifest says "runtime": {"host": "process"} but names no command`)
	}
	node, err := exec.LookPath(h.options.Node)
	if err != nil {
		return command{}, fmt.Errorf("%w (%w); install Node 20 or later and have it in the server's PATH",
			extensions.ErrNoNode, err)
	}
	root := source.SourceRoot
	if root == "" || source.Trust == extensions.TrustEnforced {
		root = source.Root
	}
	built, err := bundle.Build(bundle.Options{Root: root, Entry: source.Entrypoint, Target: bundle.Node})
	if err != nil {
		return command{}, err
	}
	heap := h.limits.Memory / 2 >> 20
	return command{
		path: node, args: []string{"--max-old-space-size=" + strconv.FormatInt(heap, 10), filepath.Join(dirMarker, hostFile)},
		files: map[string][]byte{hostFile: nodeHost, scriptFile: built.Code}, script: scriptFile, uses: built.Uses,
		runs: built.Files,
	}, nil
}

// named returns the files that a command names, relative to the extension's folder.
func named(source extensions.Source) (files []string) {
	for i, word := range source.Runtime.Command {
		if i == 0 && !strings.Contains(word, "/") {
			continue // a program on this machine
		}
		if !filepath.IsAbs(word) {
			word = filepath.Join(source.Root, word)
		}
		if real, err := filepath.EvalSymlinks(word); err == nil {
			if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() {
				files = append(files, real)
			}
		}
	}
	return files
}

// program finds the first word of a command: a file of the extension if it contains a slash, otherwise a program in
// PATH.
func program(root, name string) (string, error) {
	if !strings.Contains(name, "/") {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("the command's program is not installed on this server: %w", err)
		}
		return path, nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(root, name)
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", fmt.Errorf("the command's program can not be found: %w", err)
	}
	return real, nil
}

// limited wraps a command so that the limits apply before its first instruction. The program replaces the shell,
// which skips limits that the system lacks.
func (l Limits) limited(path string, args []string) (string, []string) {
	script := fmt.Sprintf(
		`ulimit -d %d 2>/dev/null; ulimit -n %d 2>/dev/null; ulimit -t %d 2>/dev/null; ulimit -c 0 2>/dev/null; exec "$@"`,
		l.Memory>>10, l.OpenFiles, max(1, int64(l.CPU.Seconds())))
	return "/bin/sh", append([]string{"-c", script, "sh", path}, args...)
}

// environment returns a child's environment: harmless variables and those that the operator passes on, never the
// server's secrets.
func (h *Host) environment(source extensions.Source, dir string) []string {
	env := []string{
		"TMPDIR=" + dir, "HARNESS_EXTENSION_NAME=" + source.Name, "HARNESS_EXTENSION_ROOT=" + source.Root,
		"HARNESS_EXTENSION_PROTOCOL=" + strconv.Itoa(protocol), "PYTHONUNBUFFERED=1",
		// The cache would write code without consent into the extension's folder.
		"PYTHONDONTWRITEBYTECODE=1",
	}
	for _, name := range append([]string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SSL_CERT_FILE",
		"SSL_CERT_DIR"}, h.options.PassEnv...) {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// prepare creates a child's folder and returns its arguments.
func (c command) prepare(dir string) ([]string, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the child's folder: %w", err)
	}
	for name, content := range c.files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, fmt.Errorf("write the child's files: %w", err)
		}
	}
	args := make([]string, len(c.args))
	for i, arg := range c.args {
		args[i] = strings.ReplaceAll(arg, dirMarker, dir)
	}
	return args, nil
}
