package artifact

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"harness/internal/lib/durable"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// files stores contents as files named by their hash.
type files struct{ dir string }

func (f *files) path(hash string) string { return filepath.Join(f.dir, hash[:2], hash) }

// put writes and syncs a content under a temporary name and renames it, so that a row never refers to a partial file.
func (f *files) put(_ context.Context, hash string, content []byte) (_ journal.Unit, err error) {
	target := f.path(hash)
	if err := durable.MkdirAll(filepath.Dir(target)); err != nil {
		return nil, err
	}
	temporary := target + "." + rand.Text()
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(temporary, target)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(temporary))
	}
	// Write the file even if it exists: a concurrent drop checks the rows in the transaction before this one's.
	return func(ctx context.Context, _ database.Tx) ([]journal.Event, error) {
		if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
			_, err = f.put(ctx, hash, content)
			return nil, err
		}
		return nil, durable.SyncFolder(filepath.Dir(target))
	}, nil
}

func (f *files) open(_ context.Context, hash string, _ int64) (io.ReadSeekCloser, error) {
	file, err := os.Open(f.path(hash))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return file, nil
}

func (f *files) drop(_ context.Context, _ database.Tx, hash string) error {
	if err := os.Remove(f.path(hash)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// FileOf returns the path of a content in the folder of a Store that keeps files; hash is sha256 in hex.
func FileOf(dir, hash string) string { return (&files{dir}).path(hash) }
