package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"
)

// made makes a release of the sources with a small program for each platform, independent of place and time.
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
	program, err := os.ReadFile(own) // a Go program that records its modules
	if err != nil {
		t.Fatal(err)
	}
	r := &release{Source: root, Out: filepath.Join(t.TempDir(), "dist"), Version: "1.2.3-rc.1",
		Date:     time.Unix(1_700_000_000, 0).UTC(),
		Download: "https://example.com/harness", Scope: "@some", Key: testKey(t),
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
		// Making a real release tests nfpm; this stub packs its list.
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
	if read(t, filepath.Join(first, signatureFile)) != read(t, filepath.Join(second, signatureFile)) {
		t.Error("the signatures differ")
	}
	files, err := os.ReadDir(first)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := file.Name(); name != checksumsFile && name != signatureFile && !strings.Contains(sums, "  "+name+"\n") {
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

// unpacked returns the content of an archive: names with modes, and the files.
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

// checkContents checks that users get what they need: the program runs, and packages, formula and chart name the
// release.
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

// seed makes the test's key reproducible, like releases.
type seed struct{}

func (seed) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte{7}, len(p))), nil }

func testKey(t *testing.T) *minisign.PrivateKey {
	t.Helper()
	_, key, err := minisign.GenerateKey(seed{})
	if err != nil {
		t.Fatal(err)
	}
	return &key
}

// publicKey writes a public key to a file and returns its path.
func publicKey(t *testing.T, random io.Reader) string {
	t.Helper()
	public, _, err := minisign.GenerateKey(random)
	if err != nil {
		t.Fatal(err)
	}
	text, err := public.MarshalText()
	file := filepath.Join(t.TempDir(), "harness.pub")
	if err := errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestVerifyAReleaseAndItsFaults(t *testing.T) {
	t.Parallel()
	dist, key := made(t), publicKey(t, seed{})
	check := func(want string, args ...string) {
		t.Helper()
		err := verify(append([]string{"-dir", dist}, args...))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
	write := func(name, text string) (restore func()) {
		t.Helper()
		file := filepath.Join(dist, name)
		before, err := os.ReadFile(file)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return func() {
			_ = os.Remove(file) // written back below if it existed
			if err == nil {
				err = os.WriteFile(file, before, 0o600)
			}
		}
	}
	if err := os.Mkdir(filepath.Join(dist, siteFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	check("", "-public-key", key)
	check("PUBLIC_KEY=FILE")
	check("no signature", "-public-key", publicKey(t, rand.Reader))

	sums := read(t, filepath.Join(dist, checksumsFile))
	restore := write(checksumsFile, sums+"\n")
	check("no signature", "-public-key", key)
	restore()
	restore = write("harness.rb", "other")
	check("harness.rb is not the file that was released", "-public-key", key)
	restore()
	restore = write("more.txt", "")
	check("more.txt is not part of the release", "-public-key", key)
	restore()
	check("", "-public-key", key)

	var lines []string
	for line := range strings.Lines(sums) {
		if !strings.Contains(line, "darwin_arm64.cdx.json") {
			lines = append(lines, line)
		}
	}
	if err := errors.Join(os.Remove(filepath.Join(dist, "harness_1.2.3-rc.1_darwin_arm64.cdx.json")),
		os.Remove(filepath.Join(dist, signatureFile))); err != nil {
		t.Fatal(err)
	}
	write(checksumsFile, strings.Join(lines, ""))
	check("the release is not signed", "-public-key", key)
	check("has no bill of materials", "-unsigned")
	check("provenance.json does not name the files", "-unsigned")
}

// A release is signed unless the releaser opts out; this is checked before anything is built.
func TestAReleaseNeedsAKey(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), []string{"-version", "1.2.3"}); err == nil || !strings.Contains(err.Error(), "KEY=FILE") {
		t.Errorf("without a key: %v", err)
	}
	if key, err := readKey("", true); key != nil || err != nil {
		t.Errorf("unsigned: %v, %v", key, err)
	}
	plain, err := testKey(t).MarshalText()
	file := filepath.Join(t.TempDir(), "key")
	if err := errors.Join(err, os.WriteFile(file, plain, 0o600)); err != nil {
		t.Fatal(err)
	}
	if key, err := readKey(file, false); err != nil || !key.Equal(*testKey(t)) {
		t.Errorf("a key without a password: %v", err)
	}
	locked, err := minisign.EncryptKey("secret", *testKey(t))
	if err := errors.Join(err, os.WriteFile(file, locked, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := readKey(file, false); err == nil || !strings.Contains(err.Error(), passwordVariable) {
		t.Errorf("a key whose password is not set: %v", err)
	}
	if err := os.WriteFile(file, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readKey(file, false); err == nil || !strings.Contains(err.Error(), "no minisign key") {
		t.Errorf("a file that is no key: %v", err)
	}
}

// A release may share its folder with the site, but not with files of another release.
func TestAReleaseLeavesTheSiteAlone(t *testing.T) {
	t.Parallel()
	r := &release{Out: filepath.Join(t.TempDir(), "dist")}
	if err := errors.Join(os.MkdirAll(filepath.Join(r.Out, siteFolder), 0o700), r.folder()); err != nil {
		t.Errorf("beside the site: %v", err)
	}
	if err := os.WriteFile(filepath.Join(r.Out, "harness.rb"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.folder(); err == nil || !strings.Contains(err.Error(), "already has harness.rb") {
		t.Errorf("beside another release: %v", err)
	}
}
