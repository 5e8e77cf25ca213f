package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"
)

// sqliteMagic is the start of every SQLite file.
const sqliteMagic = "SQLite format 3\x00"

// isSQLite reports whether a name in a folder is a SQLite file.
func isSQLite(dir *os.Root, name string) bool {
	file, err := openRegular(dir, name)
	if err != nil || file == nil {
		return false
	}
	defer file.Close()
	return hasMagic(file)
}

func hasMagic(file *os.File) bool {
	magic := make([]byte, len(sqliteMagic))
	_, err := file.ReadAt(magic, 0)
	return err == nil && string(magic) == sqliteMagic
}

// The byte ranges that SQLite locks (https://www.sqlite.org/fileformat2.html, https://www.sqlite.org/walformat.html):
// in a database, those that all readers share; in the index of its log, those of writers, checkpoints and recovery.
const (
	sharedFirst, sharedBytes = 0x40000002, 510
	logFirst, logBytes       = 120, 3
)

const (
	lockTries = 400 // 10 s
	lockPause = 25 * time.Millisecond
	copyTries = 20
)

// sqlite writes a consistent state of a SQLite file that may be in use: it locks the file and its log, and copies both.
// It does not open them with SQLite: names and links in the folder would decide what SQLite opens.
func (w *writer) sqlite(ctx context.Context, at *level, name string, file *os.File) (err error) {
	folder, err := os.MkdirTemp(w.beside, ".harness-backup-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	for range copyTries {
		copies, whole, err := copyState(ctx, at.dir, name, file, folder)
		if err == nil && whole {
			for _, one := range copies {
				err = errors.Join(err, w.copied(path.Join(at.under, at.name, name)+one.suffix, one.info, one.content))
			}
		}
		for _, one := range copies {
			err = errors.Join(err, one.content.Close(), os.Remove(one.content.Name()))
		}
		if err != nil || whole {
			return err
		}
	}
	return fmt.Errorf("%s is opened and closed continually: no consistent copy was possible", filepath.Join(at.path, name))
}

// stateFile is a copy of a SQLite file or of its log.
type stateFile struct {
	suffix  string
	info    fs.FileInfo
	content *os.File
}

// copyState copies a SQLite file and its log into a folder. It reports an incomplete copy if another program opened the
// file during the copy and may write it without our lock.
func copyState(ctx context.Context, dir *os.Root, name string, file *os.File, folder string) (copies []stateFile,
	whole bool, err error) {
	if err := lock(ctx, file, sharedFirst, sharedBytes); err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, unlock(file, sharedFirst, sharedBytes)) }()
	index, err := openRegular(dir, name+"-shm")
	if err != nil {
		return nil, false, err
	}
	if index != nil {
		defer func() { err = errors.Join(err, index.Close()) }() // closing unlocks it
		if err := lock(ctx, index, logFirst, logBytes); err != nil {
			return nil, false, err
		}
	}
	for _, suffix := range []string{"", "-wal", "-journal"} {
		from := file
		if suffix != "" {
			if from, err = openRegular(dir, name+suffix); err != nil {
				return copies, false, err
			}
			if from == nil {
				continue
			}
		}
		one, err := copyFile(ctx, from, filepath.Join(folder, "copy"+suffix))
		if suffix != "" {
			err = errors.Join(err, from.Close())
		}
		if one != nil {
			one.suffix = suffix
			copies = append(copies, *one)
		}
		if err != nil {
			return copies, false, err
		}
	}
	if index == nil {
		late, err := openRegular(dir, name+"-shm")
		if err != nil {
			return copies, false, err
		}
		if late != nil {
			return copies, false, late.Close()
		}
	}
	return copies, true, nil
}

func copyFile(ctx context.Context, from *os.File, to string) (*stateFile, error) {
	info, err := from.Stat()
	if err != nil {
		return nil, err
	}
	content, err := copyOf(ctx, from, to)
	if err != nil {
		return nil, err
	}
	return &stateFile{info: info, content: content}, nil
}

// lock shares bytes of a file with other readers, and waits for a writer.
func lock(ctx context.Context, file *os.File, first, length int64) error {
	pause := time.NewTicker(lockPause)
	defer pause.Stop()
	for try := 0; ; try++ {
		err := syscall.FcntlFlock(file.Fd(), syscall.F_SETLK,
			&syscall.Flock_t{Type: syscall.F_RDLCK, Whence: io.SeekStart, Start: first, Len: length})
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EACCES) || try == lockTries {
			return fmt.Errorf("lock %s, which another program writes: %w", file.Name(), err)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func unlock(file *os.File, first, length int64) error {
	return syscall.FcntlFlock(file.Fd(), syscall.F_SETLK,
		&syscall.Flock_t{Type: syscall.F_UNLCK, Whence: io.SeekStart, Start: first, Len: length})
}
