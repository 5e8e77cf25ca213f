package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// file is a file of an archive.
type file struct {
	name    string
	content []byte
	program bool
}

// pack writes files as a compressed archive that does not depend on this machine or the date.
func (r *release) pack(target string, files []file) error {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	for _, one := range files {
		header := &tar.Header{Name: one.name, Mode: 0o644, Size: int64(len(one.content)), ModTime: r.Date,
			Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if one.program {
			header.Mode = 0o755
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(one.content); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	return publish(target, out.Bytes())
}

func publish(target string, content []byte) error {
	return os.WriteFile(target, content, 0o644) //nolint:gosec // to be published
}

// tree reads the files below a folder, sorted by name, for a path of an archive.
func tree(dir, under string) (files []file, err error) {
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, name)
		files = append(files, file{name: path.Join(under, filepath.ToSlash(relative)), content: content})
		return err
	})
	return files, err
}

// documents lists the files of the source folder for archives and packages.
func documents() []string {
	return []string{"LICENSE", "README.md", "docs/changelog.md", ".env.example", "deploy/harness.service",
		"deploy/harness.sysusers.conf", "deploy/harness.tmpfiles.conf"}
}

// archiveName returns the name of a platform's archive.
func (r *release) archiveName(p platform) string {
	return fmt.Sprintf("harness_%s_%s.tar.gz", r.Version, p)
}

// archive packs a program with its manual, completions and files for a machine's administrator.
func (r *release) archive(p platform, manual string) error {
	under := strings.TrimSuffix(r.archiveName(p), ".tar.gz")
	program, err := os.ReadFile(r.programs[p])
	if err != nil {
		return err
	}
	files := []file{{under + "/harness", program, true}}
	for _, name := range documents() {
		content, err := os.ReadFile(filepath.Join(r.Source, name))
		if err != nil {
			return err
		}
		files = append(files, file{name: path.Join(under, name), content: content})
	}
	pages, err := tree(manual, under)
	if err != nil {
		return err
	}
	return r.pack(r.name("%s", r.archiveName(p)), append(files, pages...))
}

// sum returns the SHA-256 of a file of the release.
func (r *release) sum(name string) (string, error) {
	content, err := os.ReadFile(filepath.Join(r.Out, name))
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:]), err
}

// checksums lists the hashes of all files, for sha256sum --check.
func (r *release) checksums() error {
	var list strings.Builder
	for _, name := range r.made {
		hash, err := r.sum(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s  %s\n", hash, name)
	}
	return publish(filepath.Join(r.Out, checksumsFile), []byte(list.String()))
}
