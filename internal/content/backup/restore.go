package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"harness/internal/lib/durable"
	"harness/internal/platform/database"
	"harness/migrations"
)

// Target is the destination of a restore.
type Target struct {
	// URL is the Postgres to fill, "" for SQLite in the data directory.
	URL string
	// DataDir exists, is empty, and is locked by the caller.
	DataDir string
	// Homes are the paths for the archive's homes, by name; homes without a path stay in the archive.
	Homes map[string]string
}

// Restore restores an archive into an empty target. It first verifies the whole archive. ErrDamaged, ErrNotEmpty,
// *migrations.NewerSchemaError. A failure leaves the target unchanged, except for names that begin with a dot. A
// Postgres keeps rows that were committed before files failed.
func Restore(ctx context.Context, archive string, target Target) (Manifest, error) {
	manifest, err := Verify(archive)
	if err != nil {
		return Manifest{}, err
	}
	if known, err := migrations.Latest(); err != nil || manifest.Schema > known {
		return Manifest{}, errors.Join(err, &migrations.NewerSchemaError{Store: manifest.Schema, Binary: known})
	}
	if manifest.Schema < 1 {
		return Manifest{}, damaged("its schema version is %d", manifest.Schema)
	}
	places := map[string]*stage{dataDir: {dir: target.DataDir}}
	for name, folder := range target.Homes {
		places[path.Join(homesDir, name)] = &stage{dir: folder}
	}
	defer func() {
		for _, place := range places {
			place.close()
		}
	}()
	for _, place := range places {
		if err := place.open(); err != nil {
			return Manifest{}, err
		}
	}
	store := filepath.Join(target.DataDir, restoringDir)
	db, err := database.Open(ctx, database.Options{URL: target.URL, Path: filepath.Join(store, storeFile),
		Marker: migrations.Marker})
	if err != nil {
		return Manifest{}, err
	}
	r := &restore{Manifest: manifest, places: places, rows: map[string]int64{}}
	err = fill(ctx, db, filepath.Join(store, "migrate.lock"), manifest.Schema, store, func(l *loader) error {
		return r.all(l, archive)
	})
	if err = errors.Join(err, db.Close()); err != nil {
		return Manifest{}, err
	}
	if err := os.Remove(filepath.Join(store, "migrate.lock")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return Manifest{}, err
	}
	for _, place := range places {
		if err := place.commit(); err != nil {
			return Manifest{}, err
		}
	}
	return manifest, nil
}

// restore is the state of one restore.
type restore struct {
	Manifest
	places map[string]*stage // by the path in the archive
	rows   map[string]int64  // by table
}

func (r *restore) all(l *loader, archive string) error {
	err := eachFile(archive, func(header *tar.Header, content io.Reader) error {
		name := path.Clean(header.Name)
		if rest, is := strings.CutPrefix(name, tablesDir+"/"); is {
			return r.part(l, path.Dir(rest), content)
		}
		if rest, is := strings.CutPrefix(name, path.Join(dataDir, artifactsDir)+"/"); is {
			if hash := path.Base(rest); isHash(hash) && header.Typeflag == tar.TypeReg {
				return l.content(hash, content)
			}
			return nil
		}
		for under, place := range r.places {
			if rest, is := strings.CutPrefix(name, under+"/"); is {
				if first, _, _ := strings.Cut(rest, "/"); under == dataDir && leftOut(first) {
					return damaged("it has the file %.100q, which no backup keeps", name) // the store itself would be such a file
				}
				return place.put(rest, header, content)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, table := range r.Tables {
		if r.rows[table.Name] != table.Rows {
			return damaged("the table %s has %d rows, its manifest says %d", table.Name, r.rows[table.Name], table.Rows)
		}
	}
	return nil
}

// part inserts a part of a table.
func (r *restore) part(l *loader, name string, content io.Reader) (err error) {
	for _, table := range r.Tables {
		if table.Name == name {
			var broken error
			count, err := l.rows(table, decoded(content, len(table.Columns), &broken))
			r.rows[name] += count
			return errors.Join(err, broken)
		}
	}
	return damaged("there is no table %s", name)
}

// decoded returns the rows of a part; it sets broken to the reason if they end early.
func decoded(content io.Reader, columns int, broken *error) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		lines := bufio.NewReaderSize(content, 1<<16)
		for {
			line, err := lines.ReadBytes('\n')
			if len(bytes.TrimSpace(line)) > 0 {
				row, wrong := decodeRow(line, columns)
				if wrong != nil {
					*broken = damaged("a row cannot be read: %w", wrong)
					return
				}
				if !yield(row) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				*broken = err
				return
			}
		}
	}
}

// storeFile is the store in a data directory.
const storeFile = "harness.db"

// restoringDir stages a folder's new content until it is complete; replacedPrefix is the prefix of folders with the
// previous content.
const (
	restoringDir   = ".restoring"
	replacedPrefix = ".replaced-"
)

// Unfinished reports whether a restore into a data directory was interrupted.
func Unfinished(dataDir string) bool {
	_, err := os.Lstat(filepath.Join(dataDir, restoringDir))
	return err == nil
}

// stage is a folder with content that a restore replaces as a whole.
type stage struct {
	dir  string
	root *os.Root
}

// open creates the folder that stages the content. ErrNotEmpty.
func (s *stage) open() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if found := content(s.dir); len(found) > 0 {
		if !Unfinished(s.dir) {
			return fmt.Errorf("%s has %s: %w", s.dir, strings.Join(found[:min(len(found), 3)], ", "), ErrNotEmpty)
		}
		if _, err := SetAside(s.dir); err != nil { // content that an interrupted restore moved here
			return err
		}
	}
	waiting := filepath.Join(s.dir, restoringDir)
	err := errors.Join(os.RemoveAll(waiting), os.Mkdir(waiting, 0o700))
	if err == nil {
		s.root, err = os.OpenRoot(waiting)
	}
	return err
}

// SetAside moves the relevant content of a folder into a new folder within it, and returns the new path.
func SetAside(dir string) (string, error) {
	aside := filepath.Join(dir, replacedPrefix+time.Now().UTC().Format("20060102T150405.000"))
	if err := os.Mkdir(aside, 0o700); err != nil {
		return "", err
	}
	for _, name := range content(dir) {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(aside, name)); err != nil {
			return "", err
		}
	}
	return aside, nil
}

// close removes uncommitted content.
func (s *stage) close() {
	if s.root != nil {
		_ = s.root.Close()
		_ = os.RemoveAll(filepath.Join(s.dir, restoringDir))
	}
}

// content lists the relevant entries of a folder.
func content(dir string) (found []string) {
	entries, _ := os.ReadDir(dir) // an unreadable folder is not writable either, so the write fails
	for _, entry := range entries {
		switch name := entry.Name(); {
		case name == "claim", name == "harness.lock", name == "migrate.lock", name == restoringDir,
			strings.HasPrefix(name, replacedPrefix):
		default:
			found = append(found, name)
		}
	}
	return found
}

// put writes a file into the stage, and refuses a name that leads out of it.
func (s *stage) put(name string, header *tar.Header, content io.Reader) (err error) {
	mode := os.FileMode(header.Mode).Perm() //nolint:gosec // permission bits
	name = filepath.FromSlash(name)
	switch header.Typeflag {
	case tar.TypeDir:
		err = s.root.MkdirAll(name, mode|0o700)
	case tar.TypeSymlink:
		err = s.root.Symlink(header.Linkname, name)
	default:
		var file *os.File
		if err = s.root.MkdirAll(filepath.Dir(name), 0o700); err == nil {
			file, err = s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
		}
		if err != nil {
			break
		}
		_, err = io.Copy(file, content)
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err == nil && os.Geteuid() == 0 {
		err = s.root.Lchown(name, header.Uid, header.Gid) // agents keep ownership of their files
	}
	if err != nil {
		return fmt.Errorf("restore %s: %w", name, err)
	}
	return nil
}

// commit moves the staged content to its target, the store last. A server without a store would create an empty one,
// but it refuses to start while the staging folder exists.
func (s *stage) commit() error {
	if err := s.root.Close(); err != nil {
		return err
	}
	s.root = nil // the stage stays until all content has moved
	waiting := filepath.Join(s.dir, restoringDir)
	entries, err := os.ReadDir(waiting)
	if err != nil {
		return err
	}
	for _, last := range []bool{false, true} {
		for _, entry := range entries {
			if (entry.Name() == storeFile) != last {
				continue
			}
			if err := os.Rename(filepath.Join(waiting, entry.Name()), filepath.Join(s.dir, entry.Name())); err != nil {
				return err
			}
		}
	}
	if err := durable.SyncFolder(s.dir); err != nil {
		return err
	}
	return os.Remove(waiting)
}
