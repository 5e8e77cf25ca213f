package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"

	"harness/internal/lib/durable"
	"harness/internal/platform/database"
	"harness/migrations"
)

// Source is the input of a backup.
type Source struct {
	// DB is the store, which servers may be using.
	DB *database.DB
	// DataDir is the data directory of the server.
	DataDir string
	// Objects reads the contents in an object store; nil without one.
	Objects Objects
	// Homes are folders of runtimes, by a name of letters.
	Homes map[string]string
	// Without lists what the caller omits.
	Without []Omission
	// Program is the version of this program.
	Program string
}

// partBytes is the size of a table's part, which is in memory as a whole.
const partBytes = 4 << 20

// Write creates a complete archive or none, readable by its owner alone. It contains everything acknowledged before it
// started. fs.ErrExist if the file exists; *migrations.NewerSchemaError if a newer program created the store.
func Write(ctx context.Context, target string, source Source) (_ Manifest, err error) {
	if _, err := os.Lstat(target); err == nil {
		return Manifest{}, &fs.PathError{Op: "make", Path: target, Err: fs.ErrExist}
	}
	draft, err := os.CreateTemp(filepath.Dir(target), filepath.Base(target)+".new-*") // mode 0600
	if err != nil {
		return Manifest{}, fmt.Errorf("make the archive: %w", err)
	}
	defer func() {
		_ = draft.Close() // a successful run has closed it
		if gone := os.Remove(draft.Name()); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	compressed, err := zstd.NewWriter(draft)
	if err != nil {
		return Manifest{}, err
	}
	w := &writer{Source: source, out: tar.NewWriter(compressed), beside: filepath.Dir(target), seen: map[string]bool{},
		Manifest: Manifest{Format: format, Program: source.Program, CreatedAt: time.Now().UTC().Format(time.RFC3339),
			Engine: source.DB.Engine(), Omitted: append([]Omission{}, source.Without...)}}
	err = w.all(ctx)
	if err = errors.Join(err, w.out.Close(), compressed.Close()); err != nil {
		return Manifest{}, fmt.Errorf("write the archive: %w", err)
	}
	if err := errors.Join(draft.Sync(), draft.Close()); err != nil {
		return Manifest{}, fmt.Errorf("write the archive: %w", err)
	}
	return w.Manifest, publish(draft.Name(), target)
}

// publish renames a finished file to its target, unless that exists.
func publish(draft, target string) error {
	err := os.Link(draft, target)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(draft, target) // not every file system supports links
	}
	if err != nil {
		return fmt.Errorf("name the archive: %w", err)
	}
	if err := durable.SyncFolder(filepath.Dir(target)); err != nil {
		return fmt.Errorf("name the archive: %w", err)
	}
	return nil
}

// writer writes one archive.
type writer struct {
	Source
	Manifest

	out    *tar.Writer
	beside string          // folder for temporary files
	seen   map[string]bool // artifact contents that are in the archive
}

// all writes the parts. It writes contents of artifacts both before and after the rows: a content exists before its
// row, and may be deleted soon after it.
func (w *writer) all(ctx context.Context) error {
	w.Tables = []Table{}
	err := errors.Join(w.artifacts(ctx), w.rows(ctx), w.artifacts(ctx))
	if err == nil {
		err = w.data(ctx)
	}
	for name, folder := range w.Homes {
		if err == nil {
			err = w.folder(ctx, folder, path.Join(homesDir, name), nil)
		}
	}
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(w.Manifest, "", "  ")
	if err != nil {
		return err
	}
	return w.put(tar.Header{Name: manifestFile, Mode: 0o600, Size: int64(len(text)), ModTime: time.Now()},
		bytes.NewReader(text))
}

// rows writes a consistent state of the tables.
func (w *writer) rows(ctx context.Context) error {
	version, err := migrations.Inspect(ctx, w.DB)
	if err != nil {
		return err
	}
	if version.From > version.To {
		return &migrations.NewerSchemaError{Store: version.From, Binary: version.To}
	}
	w.Schema = version.From
	return w.DB.Snapshot(ctx, func(q database.Querier) error {
		tables, err := tablesOf(ctx, q, w.Schema)
		if err != nil {
			return err
		}
		for _, table := range tables {
			if err := w.table(ctx, q, table); err != nil {
				return err
			}
		}
		return w.objects(ctx, q) // objects outlive their rows for a while
	})
}

func (w *writer) table(ctx context.Context, q database.Querier, table Table) error {
	var part bytes.Buffer
	lines := json.NewEncoder(&part)
	lines.SetEscapeHTML(false)
	number := 0
	flush := func() error {
		if part.Len() == 0 {
			return nil
		}
		number++
		header := tar.Header{Name: fmt.Sprintf("%s/%s/%06d.jsonl", tablesDir, table.Name, number), Mode: 0o600,
			Size: int64(part.Len()), ModTime: time.Now()}
		err := w.put(header, &part)
		part.Reset()
		return err
	}
	err := eachRow(ctx, q, table, func(row []any) error {
		table.Rows++
		if err := encodeRow(lines, row); err != nil || part.Len() < partBytes {
			return err
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	w.Tables = append(w.Tables, table)
	return err
}

// put writes one file of the archive and records its hash.
func (w *writer) put(header tar.Header, content io.Reader) error {
	header.Typeflag, header.Format = tar.TypeReg, tar.FormatPAX
	if err := w.out.WriteHeader(&header); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w.out, sum), content); err != nil {
		return fmt.Errorf("%s: %w", header.Name, err)
	}
	if header.Name != manifestFile {
		w.Files = append(w.Files, File{header.Name, header.Size, hex.EncodeToString(sum.Sum(nil))})
	}
	return nil
}
