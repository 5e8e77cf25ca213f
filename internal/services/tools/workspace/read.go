package workspace

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"harness/internal/services/tools"
)

const (
	readInput = `{"type":"object","properties":{"path":{"type":"string"},"max_bytes":{"type":"number"},"encoding":{"type":"string"}},` +
		`"required":["path"],"additionalProperties":false}`
	readOutput = `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"truncated":{"type":"boolean"},` +
		`"bytes_read":{"type":"number"},"total_bytes":{"type":"number"},"encoding":{"type":"string"}},` +
		`"required":["path","content","truncated","bytes_read","total_bytes","encoding"],"additionalProperties":false}`
)

type readOf struct {
	Path     string   `json:"path"`
	MaxBytes *float64 `json:"max_bytes"`
	Encoding string   `json:"encoding"`
}

type readResult struct {
	Path       string `json:"path"`
	Content    string `json:"content"`
	Truncated  bool   `json:"truncated"`
	BytesRead  int    `json:"bytes_read"`
	TotalBytes int64  `json:"total_bytes"`
	Encoding   string `json:"encoding"`
}

func (l Limits) read() tools.Tool {
	return tools.Tool{
		Name: "workspace.read", Description: "Read a file from the workspace.", Class: tools.ReadOnly,
		Input: json.RawMessage(readInput), Output: json.RawMessage(readOutput),
		Run: run(func(_ context.Context, root *os.Root, in readOf) (readResult, error) {
			name, err := local(in.Path)
			if err != nil {
				return readResult{}, err
			}
			limit := l.ReadBytes
			if in.MaxBytes != nil {
				if *in.MaxBytes < 0 {
					return readResult{}, fmt.Errorf("max_bytes has to be 0 or more, not %v", *in.MaxBytes)
				}
				limit = int64(min(*in.MaxBytes, float64(limit)))
			}
			file, info, err := l.open(root, name)
			if err != nil {
				return readResult{}, err
			}
			defer file.Close()
			content, err := io.ReadAll(io.LimitReader(file, limit))
			if err != nil {
				return readResult{}, err
			}
			out := readResult{Path: in.Path, BytesRead: len(content), TotalBytes: max(info.Size(), int64(len(content))),
				Encoding: in.Encoding}
			switch out.Encoding {
			case "", "utf8", "utf-8":
				out.Encoding = "utf8"
				content = wholeRunes(content, out.TotalBytes)
				if !utf8.Valid(content) {
					return readResult{}, fmt.Errorf(`%s is no UTF-8 text; read it with "encoding": "base64"`, in.Path)
				}
				out.Content, out.BytesRead = string(content), len(content)
			case "base64":
				out.Content = base64.StdEncoding.EncodeToString(content)
			default:
				return readResult{}, fmt.Errorf("encoding %q is unknown; there are utf8 and base64", in.Encoding)
			}
			out.Truncated = int64(out.BytesRead) < out.TotalBytes
			return out, nil
		}),
	}
}

// wholeRunes drops a character that the limit cut off.
func wholeRunes(content []byte, total int64) []byte {
	if int64(len(content)) == total {
		return content
	}
	for cut := 1; cut < utf8.UTFMax && cut <= len(content); cut++ {
		if last := content[len(content)-cut:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return content[:len(content)-cut]
			}
			break
		}
	}
	return content
}

const (
	listInput = `{"type":"object","properties":{"path":{"type":"string","description":"a folder of the workspace, the ` +
		`workspace itself when left out"},` +
		`"recursive":{"type":"boolean"},"limit":{"type":"integer","minimum":1}},"additionalProperties":false}`
	listOutput = `{"type":"object","properties":{"path":{"type":"string"},"entries":{"type":"array","items":{"type":"object","properties":{` +
		`"path":{"type":"string"},"type":{"enum":["file","folder","link","other"]},"size":{"type":"integer"}},"required":["path","type"],` +
		`"additionalProperties":false}},"truncated":{"type":"boolean"}},"required":["path","entries","truncated"],"additionalProperties":false}`
	usualEntries = 1000
)

type listOf struct {
	Path      string `json:"path"`
	Recursive bool   `json:"recursive"`
	Limit     int    `json:"limit"`
}

type listResult struct {
	Path      string  `json:"path"`
	Entries   []entry `json:"entries"`
	Truncated bool    `json:"truncated"`
}

type entry struct {
	Path string `json:"path"`
	Type string `json:"type"`
	Size int64  `json:"size,omitempty"`
}

func (l Limits) list() tools.Tool {
	return tools.Tool{
		Name: "workspace.list", Description: "List the files of a folder of the workspace. Links are named, not followed.",
		Class: tools.ReadOnly, Input: json.RawMessage(listInput), Output: json.RawMessage(listOutput),
		Run: run(func(ctx context.Context, root *os.Root, in listOf) (listResult, error) {
			if in.Path == "" {
				in.Path = "."
			}
			name, err := local(in.Path)
			if err != nil {
				return listResult{}, err
			}
			if in.Limit == 0 {
				in.Limit = usualEntries
			}
			in.Limit = min(in.Limit, l.Entries)
			folder, err := root.OpenRoot(name) // refuses anything but a folder, and links that lead out
			if err != nil {
				return listResult{}, err
			}
			defer folder.Close()
			at, err := l.placeOf(folder)
			if err != nil {
				return listResult{}, err
			}
			out := listResult{Path: in.Path, Entries: []entry{}}
			err = fs.WalkDir(folder.FS(), ".", func(name string, found fs.DirEntry, err error) error {
				switch {
				case ctx.Err() != nil:
					return ctx.Err()
				case err != nil && name == ".":
					return err
				case err != nil:
					return nil //nolint:nilerr // a folder that cannot be read, or is gone, is listed without what is in it
				case name == ".":
					return nil
				case refused(filepath.Join(at, name), l.Hidden) != nil:
					return skip(found)
				case len(out.Entries) == in.Limit:
					out.Truncated = true
					return fs.SkipAll
				}
				out.Entries = append(out.Entries, described(path.Join(filepath.ToSlash(in.Path), name), found))
				if found.IsDir() && !in.Recursive {
					return fs.SkipDir
				}
				return nil
			})
			return out, err
		}),
	}
}

// skip omits an entry and everything below it.
func skip(found fs.DirEntry) error {
	if found.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func described(at string, found fs.DirEntry) entry {
	one := entry{Path: strings.ToValidUTF8(at, "\uFFFD"), Type: "other"}
	switch {
	case found.IsDir():
		one.Type = "folder"
	case found.Type()&fs.ModeSymlink != 0:
		one.Type = "link"
	case found.Type().IsRegular():
		one.Type = "file"
		if info, err := found.Info(); err == nil { // an entry that was deleted has no size
			one.Size = info.Size()
		}
	}
	return one
}
