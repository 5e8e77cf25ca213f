package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// chart packs the Helm chart with the release's version.
func (r *release) chart() error {
	files, err := tree(filepath.Join(r.Source, "deploy/chart"), "harness")
	if err != nil {
		return err
	}
	for i, one := range files {
		if one.name == "harness/Chart.yaml" {
			files[i].content = bytes.ReplaceAll(one.content, []byte("0.0.0"), []byte(r.Version))
		}
	}
	return r.pack(r.name("harness-chart-%s.tgz", r.Version), files)
}

// formula writes the Homebrew formula of the archives.
func (r *release) formula() error {
	type archive struct{ OS, CPU, URL, Hash string }
	var archives []archive
	for _, p := range r.Platforms {
		hash, err := r.sum(r.archiveName(p))
		if err != nil {
			return err
		}
		system := map[string]string{"linux": "linux", "darwin": "macos"}[p.OS]
		cpu := map[string]string{"amd64": "intel", "arm64": "arm"}[p.Arch]
		archives = append(archives,
			archive{system, cpu, fmt.Sprintf("%s/v%s/%s", r.Download, r.Version, r.archiveName(p)), hash})
	}
	made, err := template.New("formula").Parse(formula)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := made.Execute(&out,
		map[string]any{"Version": r.Version, "Archives": archives, "Home": r.Download}); err != nil {
		return err
	}
	return publish(r.name("harness.rb"), out.Bytes())
}

const formula = `class Harness < Formula
  desc "Control plane for coding agents"
  homepage "{{.Home}}"
  version "{{.Version}}"
  license "Apache-2.0"
{{range .Archives}}
  on_{{.OS}} do
    on_{{.CPU}} do
      url "{{.URL}}"
      sha256 "{{.Hash}}"
    end
  end
{{end}}
  def install
    bin.install "harness"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/harness.bash" => "harness"
    zsh_completion.install "completions/harness.zsh" => "_harness"
    fish_completion.install "completions/harness.fish"
  end

  service do
    run [opt_bin/"harness", "serve"]
    keep_alive true
    working_dir var/"harness"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/harness version")
  end
end
`

// npm packs a package for each platform, and one that picks among them.
func (r *release) npm() error {
	systems := map[string]string{"linux": "linux", "darwin": "darwin"}
	cpus := map[string]string{"amd64": "x64", "arm64": "arm64"}
	license, err := os.ReadFile(filepath.Join(r.Source, "LICENSE"))
	if err != nil {
		return err
	}
	chosen := map[string]string{}
	for _, p := range r.Platforms {
		name := fmt.Sprintf("%s/cli-%s-%s", r.Scope, systems[p.OS], cpus[p.Arch])
		chosen[name] = r.Version
		program, err := os.ReadFile(r.programs[p])
		if err != nil {
			return err
		}
		described, err := manifest(
			map[string]any{"name": name, "version": r.Version, "description": "The harness program for " + p.OS + "/" + p.Arch,
				"os": []string{systems[p.OS]}, "cpu": []string{cpus[p.Arch]}, "license": "Apache-2.0"})
		if err != nil {
			return err
		}
		err = r.pack(r.name("%s-%s.tgz", strings.NewReplacer("@", "", "/", "-").Replace(name), r.Version), []file{
			{name: "package/package.json", content: described}, {"package/bin/harness", program, true},
			{name: "package/LICENSE", content: license}})
		if err != nil {
			return err
		}
	}
	start, err := os.ReadFile(filepath.Join(r.Source, "deploy/npm/harness.js"))
	if err != nil {
		return err
	}
	described, err := manifest(map[string]any{"name": r.Scope + "/cli", "version": r.Version,
		"description": "Control plane for coding agents", "bin": map[string]string{"harness": "harness.js"},
		"optionalDependencies": chosen, "engines": map[string]string{"node": ">=18"}, "license": "Apache-2.0"})
	if err != nil {
		return err
	}
	return r.pack(r.name("%s-%s.tgz", strings.NewReplacer("@", "", "/", "-").Replace(r.Scope+"/cli"), r.Version), []file{
		{name: "package/package.json", content: described},
		{"package/harness.js", bytes.ReplaceAll(start, []byte("@harness"), []byte(r.Scope)), true},
		{name: "package/LICENSE", content: license}})
}

func manifest(value map[string]any) ([]byte, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	return append(text, '\n'), err
}
