package migrations

import (
	"bytes"
	"io"
	"io/fs"
	"strings"

	"harness/database"
)

// dialect are migrations as an engine is given them: without the lines between "-- only <another engine>" and the next
// such line or "-- all engines". On SQLite only a column spelled "integer primary key" is the table's own order, any
// other spelling makes a second b-tree that every insert pays for. Postgres needs the 64 bits of bigint.
type dialect struct {
	inner  fs.FS
	engine database.Engine
}

// Open implements fs.FS.
func (d dialect) Open(name string) (fs.File, error) {
	file, err := d.inner.Open(name)
	if err != nil || name == "." {
		return file, err
	}
	text, err := io.ReadAll(file)
	text = d.own(text)
	if d.engine == database.SQLite {
		text = bytes.ReplaceAll(text, []byte("bigint primary key"), []byte("integer primary key"))
	}
	return rowidFile{file, bytes.NewReader(text)}, err
}

func (d dialect) own(text []byte) []byte {
	kept := make([]byte, 0, len(text))
	own := true
	for line := range bytes.Lines(text) {
		switch words := strings.TrimSpace(string(line)); {
		case words == "-- all engines":
			own = true
		case strings.HasPrefix(words, "-- only "):
			own = words == "-- only "+string(d.engine)
		case own:
			kept = append(kept, line...)
		}
	}
	return kept
}

type rowidFile struct {
	fs.File
	text *bytes.Reader
}

// Read implements fs.File.
func (f rowidFile) Read(p []byte) (int, error) { return f.text.Read(p) }
