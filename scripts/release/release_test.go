package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// made makes a release of the sources with a small program for each platform, wherever and whenever.
func made(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(own) // a Go program that says what is in it
	if err != nil {
		t.Fatal(err)
	}
	r := &release{Source: root, Out: filepath.Join(t.TempDir(), "dist"), Version: "1.2.3-rc.1",
		Date:     time.Unix(1_700_000_000, 0).UTC(),
		Download: "https://example.com/harness", Scope: "@some",
		Platforms: []platform{{"linux", "amd64"}, {"darwin", "arm64"}},
		Program:   func(_ context.Context, _ platform, file string) error { return os.WriteFile(file, program, 0o700) },
		Manual: func(_ context.Context, dir string) error {
			for _, name := range []string{"man/harness.1", "completions/harness.bash", "completions/harness.zsh",
				"completions/harness.fish"} {
				file := filepath.Join(dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(name), 0o600)); err != nil {
					return err
				}
			}
			return nil
		},
		// nfpm is tested when a release is made; this stub packs its list.
		Package: func(_ context.Context, config, _, file string) error {
			text, err := os.ReadFile(config)
			if err != nil {
				return err
			}
			said := strings.ReplaceAll(string(text), filepath.Dir(config), "")
			return os.WriteFile(file, []byte(said), 0o600)
		},
	}
	if err := r.all(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r.Out
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Two releases of the same sources have the same bytes, wherever they are made; every file has its checksum.
func TestAReleaseIsTheSameBytesEveryTime(t *testing.T) {
	t.Parallel()
	first, second := made(t), made(t)
	checkContents(t, first)
	sums := read(t, filepath.Join(first, "checksums.txt"))
	if other := read(t, filepath.Join(second, "checksums.txt")); other != sums {
		t.Errorf("the checksums differ:\n%s\n%s", sums, other)
	}
	files, err := os.ReadDir(first)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := file.Name(); name != "checksums.txt" && !strings.Contains(sums, "  "+name+"\n") {
			t.Errorf("%s has no checksum", name)
		}
	}
	for _, want := range []string{"harness_1.2.3-rc.1_linux_amd64.tar.gz", "harness_1.2.3-rc.1_darwin_arm64.tar.gz",
		"harness_1.2.3-rc.1_amd64.deb", "harness_1.2.3-rc.1_x86_64.rpm", "harness_1.2.3-rc.1_linux_amd64.cdx.json",
		"harness.rb",
		"harness-chart-1.2.3-rc.1.tgz", "some-cli-1.2.3-rc.1.tgz", "some-cli-linux-x64-1.2.3-rc.1.tgz"} {
		if !strings.Contains(sums, "  "+want+"\n") {
			t.Errorf("there is no %s in\n%s", want, sums)
		}
	}
}

// unpacked lists an archive: names with modes, and the contents.
func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	content, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		found[fmt.Sprintf("%s %o", header.Name, header.Mode)] = string(text)
	}
}

// checkContents checks that users get what they need: the program can be run, packages, formula and chart name the release.
func checkContents(t *testing.T, dist string) {
	t.Helper()
	archive := unpacked(t, filepath.Join(dist, "harness_1.2.3-rc.1_linux_amd64.tar.gz"))
	for _, want := range []string{"harness 755", "LICENSE 644", ".env.example 644", "man/harness.1 644",
		"completions/harness.bash 644",
		"deploy/harness.service 644"} {
		if archive["harness_1.2.3-rc.1_linux_amd64/"+want] == "" {
			t.Errorf("the archive has no %s", want)
		}
	}
	if chart := unpacked(t,
		filepath.Join(dist, "harness-chart-1.2.3-rc.1.tgz"))["harness/Chart.yaml 644"]; !strings.Contains(chart,
		"version: 1.2.3-rc.1\nappVersion: 1.2.3-rc.1\n") {
		t.Errorf("the chart is %s", chart)
	}
	wrapper := unpacked(t, filepath.Join(dist, "some-cli-1.2.3-rc.1.tgz"))
	if !strings.Contains(wrapper["package/package.json 644"], `"@some/cli-linux-x64": "1.2.3-rc.1"`) ||
		!strings.Contains(wrapper["package/harness.js 755"], "`@some/cli-${process.platform}") {
		t.Errorf("the wrapper is %s", wrapper)
	}
	for file, wants := range map[string][]string{
		"harness.rb": {`version "1.2.3-rc.1"`,
			"https://example.com/harness/v1.2.3-rc.1/harness_1.2.3-rc.1_darwin_arm64.tar.gz", "on_macos do\n    on_arm do"},
		"harness_1.2.3-rc.1_amd64.deb": {"dst: /usr/bin/harness", "dst: /usr/lib/systemd/system/harness.service",
			"mtime: \"2023-11-14T22:13:20Z\"", "type: config|noreplace"},
		"harness_1.2.3-rc.1_linux_amd64.cdx.json": {`"bomFormat": "CycloneDX"`, "pkg:golang/github.com/google/uuid@"},
	} {
		text := read(t, filepath.Join(dist, file))
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %s", file, want)
			}
		}
	}
}

func TestAReleaseHasAVersion(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), []string{"-version", "latest"}); err == nil || !strings.Contains(err.Error(), "1.2.3") {
		t.Errorf("a version that is none: %v", err)
	}
}
