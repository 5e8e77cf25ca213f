package crashstates

import (
	"path/filepath"
	"strings"
)

// write is a call's change to the content of a file: bytes at an offset or, with cut, a new length.
type write struct {
	*call
	inode int
	at    int64
	data  string
	cut   bool
}

// naming is a call's change to names: create, mkdir, unlink, link or rename.
type naming struct {
	*call
	what     string
	from, to string
	inode    int
}

// Recording is the recorded changes to a folder.
type Recording struct {
	folder string
	writes []write
	names  []naming
	// syncs are the syncs of files by inode. folders are the syncs of folders by path.
	syncs   map[int][]*call
	folders map[string][]*call
	calls   []*call

	inodes int
	named  map[string]int
	sizes  map[int]int64
}

// Read reads an strace recording (Strace) of a folder that was empty at its start.
func Read(path, folder string) (*Recording, error) {
	calls, err := readCalls(path)
	if err != nil {
		return nil, err
	}
	r := &Recording{folder: folder, syncs: map[int][]*call{}, folders: map[string][]*call{}, calls: calls,
		named: map[string]int{}, sizes: map[int]int64{}}
	for _, one := range calls {
		r.take(one)
	}
	return r, nil
}

func (r *Recording) take(c *call) {
	switch c.kind {
	case "write", "pwrite64", "ftruncate", "fsync", "fdatasync":
		r.takeContent(c, c.file())
		return
	}
	texts := c.texts()
	if len(texts) == 0 {
		return
	}
	path := func(text string) string {
		if filepath.IsAbs(text) {
			return text
		}
		return filepath.Join(c.file(), text)
	}
	from, to := path(texts[0]), path(texts[len(texts)-1])
	if !r.has(from) {
		return
	}
	known := r.named[from]
	switch c.kind {
	case "open", "openat":
		switch {
		case known == 0 && strings.Contains(c.args, "O_CREAT"):
			r.create(c, from)
		case known != 0 && strings.Contains(c.args, "O_TRUNC"):
			r.writes = append(r.writes, write{call: c, inode: known, cut: true})
			r.sizes[known] = 0
		}
	case "mkdir", "mkdirat":
		r.names = append(r.names, naming{call: c, what: "mkdir", from: from, to: from})
	case "unlink", "unlinkat":
		if known != 0 {
			r.names = append(r.names, naming{call: c, what: "unlink", from: from, to: from, inode: known})
			delete(r.named, from)
		}
	default: // link and rename
		if known == 0 {
			return
		}
		what := "link"
		if strings.HasPrefix(c.kind, "rename") {
			what = "rename"
			delete(r.named, from)
		}
		r.names = append(r.names, naming{call: c, what: what, from: from, to: to, inode: known})
		r.named[to] = known
	}
}

func (r *Recording) create(c *call, path string) {
	r.inodes++
	r.named[path] = r.inodes
	r.names = append(r.names, naming{call: c, what: "create", from: path, to: path, inode: r.inodes})
}

func (r *Recording) takeContent(c *call, path string) {
	if !r.has(path) {
		return
	}
	inode := r.named[path]
	if inode == 0 {
		if strings.HasSuffix(c.kind, "sync") { // of a folder: files are created before they are synced
			r.folders[path] = append(r.folders[path], c)
		}
		return
	}
	switch c.kind {
	case "fsync", "fdatasync":
		r.syncs[inode] = append(r.syncs[inode], c)
	case "ftruncate":
		r.writes = append(r.writes, write{call: c, inode: inode, at: c.number(0), cut: true})
		r.sizes[inode] = c.number(0)
	default:
		data, at := c.texts()[0], r.sizes[inode]
		if c.kind == "pwrite64" {
			at = c.number(0)
		}
		r.writes = append(r.writes, write{call: c, inode: inode, at: at, data: data})
		r.sizes[inode] = max(r.sizes[inode], at+int64(len(data)))
	}
}

func (r *Recording) has(path string) bool {
	return path == r.folder || strings.HasPrefix(path, r.folder+string(filepath.Separator)) && !strings.HasSuffix(path, " (deleted)")
}

// Moments returns the lines with a write or a sync. Power may fail on each of them.
func (r *Recording) Moments() (lines []int) {
	for _, one := range r.writes {
		lines = append(lines, one.begin)
	}
	for _, of := range r.syncs {
		for _, one := range of {
			lines = append(lines, one.begin)
		}
	}
	return lines
}

// LineAt returns the last line that started before a time, in Unix seconds. TimeOf returns when a line started.
func (r *Recording) LineAt(at float64) (line int) {
	for _, one := range r.calls {
		if one.at <= at {
			line = max(line, one.begin)
		}
	}
	return line
}

// TimeOf returns the latest start time on a line or before it, in Unix seconds.
func (r *Recording) TimeOf(line int) (at float64) {
	for _, one := range r.calls {
		if one.begin <= line {
			at = max(at, one.at)
		}
	}
	return at
}
