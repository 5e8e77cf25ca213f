// Command release builds a complete release reproducibly from this source folder. For each platform it makes a static
// program in an archive with its manual, a CycloneDX bill of materials, and deb and rpm packages. It adds the Helm
// chart, a Homebrew formula, npm packages, a provenance, and the signed checksums of all. "release verify" checks a
// release.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"aead.dev/minisign"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	entry := run
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "verify" {
		entry, args = func(_ context.Context, args []string) error { return verify(args) }, args[1:]
	}
	if err := entry(ctx, args); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// platform is the target of a program.
type platform struct{ OS, Arch string }

func (p platform) String() string { return p.OS + "_" + p.Arch }

// release is a release in progress.
type release struct {
	// Source is the source folder, Out the new folder for the release.
	Source, Out string
	// Module is the path of the source's Go module.
	Module  string
	Version string // without a v
	// Date is the date of all files: the commit's.
	Date time.Time
	// Commit is the commit in the programs; empty if the source has no repository.
	Commit string
	// Download is the URL of the archives.
	Download string
	// Scope is the scope of the npm packages.
	Scope     string
	Platforms []platform
	// Key signs the checksums; nil leaves them unsigned.
	Key *minisign.PrivateKey
	// Program builds a program into a file, Manual writes manual and completions into a folder.
	Program func(ctx context.Context, p platform, file string) error
	Manual  func(ctx context.Context, dir string) error
	// Package runs nfpm; nil omits deb and rpm packages.
	Package func(ctx context.Context, config, kind, file string) error

	programs map[platform]string
	made     []string
}

var semantic = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	version := flags.String("version", "", "version of the release, like 1.2.3")
	out := flags.String("out", "dist", "folder for what is made; it has nothing but the site")
	key := flags.String("key", "", "file of the minisign key that signs the checksums; "+passwordVariable+" has its password")
	unsigned := flags.Bool("unsigned", false, "make a release without a signature, for your own use")
	download := flags.String("download", "https://downloads.example.com/harness",
		"URL under whose /vVERSION/ the archives will be")
	scope := flags.String("npm-scope", "@harness", "scope of the npm packages")
	only := flags.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "what to build for")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := &release{Version: strings.TrimPrefix(*version, "v"), Download: *download, Scope: *scope}
	if !semantic.MatchString(r.Version) {
		return fmt.Errorf("-version %q: it is like 1.2.3 or 1.2.3-rc.1", *version)
	}
	for _, one := range strings.Split(*only, ",") {
		system, arch, found := strings.Cut(one, "/")
		if !found {
			return fmt.Errorf("-platforms %s: it is like linux/amd64", one)
		}
		r.Platforms = append(r.Platforms, platform{system, arch})
	}
	var err error
	if r.Key, err = readKey(*key, *unsigned); err != nil {
		return err
	}
	if err := r.from(ctx, ".", os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		return err
	}
	if r.Out, err = filepath.Abs(*out); err != nil {
		return err
	}
	if err := r.tag(ctx, false); err != nil { // fail before the minutes of building
		return err
	}
	r.Program, r.Manual, r.Package = r.build, r.manual, r.nfpm
	if err := r.all(ctx); err != nil {
		return err
	}
	return r.tag(ctx, true)
}

// all makes all files.
func (r *release) all(ctx context.Context) error {
	if err := r.folder(); err != nil {
		return fmt.Errorf("make the folder of the release: %w", err)
	}
	work, err := os.MkdirTemp("", "harness-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	manual := filepath.Join(work, "manual")
	if err := r.Manual(ctx, manual); err != nil {
		return fmt.Errorf("write the manual: %w", err)
	}
	r.programs = map[platform]string{}
	for _, p := range r.Platforms {
		r.programs[p] = filepath.Join(work, p.String(), "harness")
		if err := os.Mkdir(filepath.Dir(r.programs[p]), 0o700); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "release: build for", p)
		if err := r.Program(ctx, p, r.programs[p]); err != nil {
			return fmt.Errorf("build for %s: %w", p, err)
		}
		if err := errors.Join(r.archive(p, manual), r.materials(p)); err != nil {
			return err
		}
		if r.Package != nil && p.OS == "linux" {
			if err := r.packages(ctx, p, manual, work); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(r.chart(), r.npm()); err != nil {
		return err
	}
	if err := r.formula(); err != nil {
		return err
	}
	if err := r.provenance(); err != nil {
		return err
	}
	if err := r.checksums(); err != nil {
		return err
	}
	return r.sign()
}

// siteFolder is the output of make site in the folder of releases.
const siteFolder = "site"

// folder creates the folder of the release. An existing one may contain the site, but no other release.
func (r *release) folder() error {
	if err := os.MkdirAll(r.Out, 0o755); err != nil { //nolint:gosec // to be published
		return err
	}
	entries, err := os.ReadDir(r.Out)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() != siteFolder {
			return fmt.Errorf("%s already has %s: remove it, or name another folder with -out", r.Out, entry.Name())
		}
	}
	return nil
}

// name returns the path of a file of the release, and records it.
func (r *release) name(format string, values ...any) string {
	name := fmt.Sprintf(format, values...)
	r.made = append(r.made, name)
	slices.Sort(r.made)
	return filepath.Join(r.Out, name)
}

// build builds a static program that contains its commit and no path of this machine. Go itself would record the commit
// only in a clone, not in a worktree.
func (r *release) build(ctx context.Context, p platform, file string) error {
	version := r.Module + "/internal/lib/version"
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags",
		"-s -w -buildid= -X "+version+".program="+r.Version+" -X "+version+".revision="+r.Commit, "-o", file, "./cmd/harness")
	cmd.Dir, cmd.Stderr = r.Source, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Arch, "GOFLAGS=", "GOAMD64=v1",
		"GOARM64=v8.0")
	return cmd.Run()
}

// manual runs the program to write its manual pages and completions.
func (r *release) manual(ctx context.Context, dir string) error {
	program := dir + "-program"
	if err := command(ctx, r.Source, nil, "go", "build", "-tags", "man", "-trimpath", "-buildvcs=false", "-o",
		program, "./cmd/harness"); err != nil {
		return err
	}
	if err := command(ctx, r.Source, nil, program, "man", filepath.Join(dir, "man"), "--date",
		strconv.FormatInt(r.Date.Unix(), 10)); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "completions"), 0o755); err != nil { //nolint:gosec // to be published
		return err
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		text, err := output(ctx, r.Source, program, "completion", shell)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "completions", "harness."+shell), []byte(text+"\n"),
				0o644) //nolint:gosec // to be published
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func command(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return nil
}

func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
