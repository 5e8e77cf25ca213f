package workspace

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"

	"harness/tools"
)

const (
	writeInput = `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},` +
		`"encoding":{"enum":["utf8","base64"]}},` +
		`"required":["path","content"],"additionalProperties":false}`
	writeOutput = `{"type":"object","properties":{"path":{"type":"string"},"bytes_written":{"type":"integer"},"created":{"type":"boolean"}},` +
		`"required":["path","bytes_written","created"],"additionalProperties":false}`
	usualMode = 0o666 // less the umask
)

type writeOf struct {
	Path     string `json:"path"`
	Content  string `json:"content"`
	Encoding string `json:"encoding"`
}

type writeResult struct {
	Path         string `json:"path"`
	BytesWritten int    `json:"bytes_written"`
	Created      bool   `json:"created"`
}

func (l Limits) write() tools.Tool {
	return tools.Tool{
		Name: "workspace.write", Description: "Write a whole file of the workspace, and the folders it needs.",
		Class: tools.Write, Input: json.RawMessage(writeInput), Output: json.RawMessage(writeOutput),
		Run: run(func(_ context.Context, root *os.Root, in writeOf) (writeResult, error) {
			name, err := writable(in.Path)
			if err != nil {
				return writeResult{}, err
			}
			content := []byte(in.Content)
			if in.Encoding == "base64" {
				if content, err = base64.StdEncoding.DecodeString(in.Content); err != nil {
					return writeResult{}, fmt.Errorf("the content is no base64: %w", err)
				}
			}
			if int64(len(content)) > l.WriteBytes {
				return writeResult{}, fmt.Errorf("the content has %d bytes, above the limit of %d", len(content), l.WriteBytes)
			}
			perm, there := permissions(root, name)
			err = l.replace(root, name, content, perm)
			return writeResult{Path: in.Path, BytesWritten: len(content), Created: !there}, err
		}),
	}
}

// permissions are those a file has, or is to have.
func permissions(root *os.Root, name string) (perm fs.FileMode, there bool) {
	info, err := root.Lstat(name)
	if err != nil {
		return usualMode, false
	}
	return info.Mode().Perm(), true
}
