package backup

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/klauspost/compress/zstd"
)

// Verify reads an archive to its end, checks that every part is complete and unchanged, and returns its manifest. An
// error for a damaged archive wraps ErrDamaged.
func Verify(archive string) (Manifest, error) {
	var (
		manifest Manifest
		found    []File
		ended    bool
	)
	err := eachFile(archive, func(header *tar.Header, content io.Reader) error {
		if ended {
			return damaged("something follows its manifest")
		}
		if header.Name == manifestFile {
			ended = true
			if err := json.NewDecoder(content).Decode(&manifest); err != nil {
				return damaged("its manifest cannot be read: %w", err)
			}
			return nil
		}
		if header.Typeflag != tar.TypeReg {
			return nil
		}
		sum := sha256.New()
		size, err := io.Copy(sum, content)
		if err != nil {
			return damaged("%s cannot be read: %w", header.Name, err)
		}
		found = append(found, File{header.Name, size, hex.EncodeToString(sum.Sum(nil))})
		return nil
	})
	switch {
	case err != nil:
		return Manifest{}, err
	case !ended:
		return Manifest{}, damaged("it has no manifest: it is cut off, or no archive of harness backup")
	case manifest.Format < 1 || manifest.Format > format:
		return Manifest{},
			fmt.Errorf("the archive has format %d, this harness reads 1 to %d: restore it with the harness that wrote it (%s)",
				manifest.Format, format, manifest.Program)
	case len(found) != len(manifest.Files):
		return Manifest{}, damaged("it has %d files, its manifest names %d", len(found), len(manifest.Files))
	}
	for i, file := range found {
		if file != manifest.Files[i] {
			return Manifest{}, damaged("%s is not as it was written", manifest.Files[i].Path)
		}
	}
	return manifest, nil
}

// eachFile calls do with each entry of an archive, in order.
func eachFile(archive string, do func(*tar.Header, io.Reader) error) error {
	file, err := os.OpenFile(archive, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("open the archive: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, fmt.Errorf("%s is no file: an archive is read twice, so it cannot come from a pipe", archive))
	}
	content, err := zstd.NewReader(file)
	if err != nil {
		return damaged("%w", err)
	}
	defer content.Close()
	entries := tar.NewReader(content)
	for {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			if _, err := io.Copy(io.Discard, content); err != nil { // the checksum of the archive follows the last file
				return damaged("%w", err)
			}
			return nil
		}
		if err != nil {
			return damaged("%w", err)
		}
		if err := do(header, entries); err != nil {
			return err
		}
	}
}
