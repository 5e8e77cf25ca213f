package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// content is a file of a package, in nfpm's format.
type content struct {
	Source string `yaml:"src"`
	Place  string `yaml:"dst"`
	Type   string `yaml:"type,omitempty"`
	Info   struct {
		Mode int `yaml:"mode"`
	} `yaml:"file_info"`
}

// packages makes the deb and the rpm package of a platform.
func (r *release) packages(ctx context.Context, p platform, manual, work string) error {
	dir := filepath.Join(work, p.String(), "package")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	var contents []content
	var broken error
	add := func(place string, mode int, text []byte) *content {
		source := filepath.Join(dir, strconv.Itoa(len(contents)))
		broken = errors.Join(broken, os.WriteFile(source, text, 0o600))
		one := content{Source: source, Place: place}
		one.Info.Mode = mode
		contents = append(contents, one)
		return &contents[len(contents)-1]
	}
	read := func(name string) []byte {
		text, err := os.ReadFile(name)
		broken = errors.Join(broken, err)
		return text
	}
	source := func(name string) []byte { return read(filepath.Join(r.Source, name)) }
	add("/usr/bin/harness", 0o755, read(r.programs[p]))
	// The unit's paths are for manual installations, below /usr/local.
	unit := bytes.ReplaceAll(source("deploy/harness.service"), []byte("/usr/local/"), []byte("/usr/"))
	add("/usr/lib/systemd/system/harness.service", 0o644, unit)
	add("/usr/lib/sysusers.d/harness.conf", 0o644, source("deploy/harness.sysusers.conf"))
	add("/usr/lib/tmpfiles.d/harness.conf", 0o644, source("deploy/harness.tmpfiles.conf"))
	add("/etc/harness/harness.env", 0o600, source(".env.example")).Type = "config|noreplace"
	for _, name := range []string{"LICENSE", "README.md", "docs/changelog.md", "docs/configuration.md", "docs/operations.md",
		"docs/security.md"} {
		add("/usr/share/doc/harness/"+filepath.Base(name), 0o644, source(name))
	}
	for _, one := range [][2]string{{"bash", "bash-completion/completions/harness"}, {"zsh", "zsh/site-functions/_harness"},
		{"fish", "fish/vendor_completions.d/harness.fish"}} {
		add("/usr/share/"+one[1], 0o644, read(filepath.Join(manual, "completions", "harness."+one[0])))
	}
	pages, err := tree(filepath.Join(manual, "man"), "/usr/share/man/man1")
	if err := errors.Join(broken, err); err != nil {
		return err
	}
	for _, page := range pages {
		var small bytes.Buffer
		compressed := gzip.NewWriter(&small)
		_, err := compressed.Write(page.content)
		broken = errors.Join(broken, err, compressed.Close())
		add(page.name+".gz", 0o644, small.Bytes())
	}
	config := map[string]any{
		"name": "harness", "arch": p.Arch, "platform": "linux", "version": r.Version,
		"mtime": r.Date.Format("2006-01-02T15:04:05Z"), "section": "admin", "priority": "optional",
		"license": "Apache-2.0", "maintainer": "Harness <harness@localhost>",
		"description": "Control plane for coding agents\nServes coding-agent runtimes over REST and a websocket stream.",
		"contents":    contents,
		"scripts": map[string]string{"postinstall": filepath.Join(r.Source, "deploy/package/installed.sh"),
			"preremove": filepath.Join(r.Source, "deploy/package/remove.sh")},
		"overrides": map[string]any{"deb": map[string]any{"recommends": []string{"git"}}},
		"rpm":       map[string]any{"buildhost": "harness"},
	}
	text, err := yaml.Marshal(config)
	if err := errors.Join(broken, err); err != nil {
		return err
	}
	described := filepath.Join(dir, "nfpm.yaml")
	if err := os.WriteFile(described, text, 0o600); err != nil {
		return err
	}
	for kind, arch := range map[string]string{"deb": p.Arch,
		"rpm": map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[p.Arch]} {
		if arch == "" {
			return fmt.Errorf("there is no %s for %s", kind, p)
		}
		if err := r.Package(ctx, described, kind, r.name("harness_%s_%s.%s", r.Version, arch, kind)); err != nil {
			return fmt.Errorf("make the %s for %s: %w", kind, p, err)
		}
	}
	return nil
}

// nfpm runs the pinned nfpm (scripts/package/go.mod).
func (r *release) nfpm(ctx context.Context, config, kind, file string) error {
	tool, err := output(ctx, r.Source, filepath.Join(r.Source, "scripts/tool.sh"), "package",
		"github.com/goreleaser/nfpm/v2", "cmd/nfpm")
	if err != nil {
		return err
	}
	return command(ctx, r.Source, []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.Date.Unix(), 10)},
		strings.TrimSpace(tool), "package", "--config", config, "--packager", kind, "--target", file)
}
