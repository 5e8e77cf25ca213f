package migrations

import (
	"bytes"
	"io"
	"io/fs"
)

// rowids are migrations as SQLite is given them: only a column spelled "integer primary key" is the table's own order
// there, any other spelling makes a second b-tree that every insert pays for. Postgres needs the 64 bits of bigint.
type rowids struct{ inner fs.FS }

// Open implements fs.FS.
func (r rowids) Open(name string) (fs.File, error) {
	file, err := r.inner.Open(name)
	if err != nil || name == "." {
		return file, err
	}
	text, err := io.ReadAll(file)
	return rowidFile{file,
		bytes.NewReader(bytes.ReplaceAll(text, []byte("bigint primary key"), []byte("integer primary key")))}, err
}

type rowidFile struct {
	fs.File
	text *bytes.Reader
}

// Read implements fs.File.
func (f rowidFile) Read(p []byte) (int, error) { return f.text.Read(p) }
