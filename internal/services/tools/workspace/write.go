package workspace

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"harness/internal/services/tools"
)

const (
	writeInput = `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},` +
		`"encoding":{"enum":["utf8","base64"]},"artifact_id":{"type":"string","description":"The artifact to write, instead of content."}},` +
		`"required":["path"],"additionalProperties":false}`
	writeOutput = `{"type":"object","properties":{"path":{"type":"string"},"bytes_written":{"type":"integer"},"created":{"type":"boolean"}},` +
		`"required":["path","bytes_written","created"],"additionalProperties":false}`
	usualMode = 0o666 // minus the umask
)

type writeOf struct {
	Path     string  `json:"path"`
	Content  *string `json:"content"`
	Encoding string  `json:"encoding"`
	Artifact *string `json:"artifact_id"`
}

// bytes returns the content to write; artifact has the bytes of the named artifact.
func (w writeOf) bytes(artifact []byte) ([]byte, error) {
	switch {
	case (w.Content == nil) == (w.Artifact == nil):
		return nil, errors.New("give content or artifact_id, and not both")
	case w.Artifact != nil && w.Encoding != "":
		return nil, errors.New("an artifact is written as it is, without an encoding")
	case w.Artifact != nil:
		return artifact, nil
	case w.Encoding != "base64":
		return []byte(*w.Content), nil
	}
	content, err := base64.StdEncoding.DecodeString(*w.Content)
	if err != nil {
		return nil, fmt.Errorf("the content is no base64: %w", err)
	}
	return content, nil
}

type writeResult struct {
	Path         string `json:"path"`
	BytesWritten int    `json:"bytes_written"`
	Created      bool   `json:"created"`
}

func (l Limits) write() tools.Tool {
	return tools.Tool{
		Name:        "workspace.write",
		Description: "Write a whole file of the workspace, and the folders it needs: content, or an artifact of this session.",
		Class:       tools.Write, Input: json.RawMessage(writeInput), Output: json.RawMessage(writeOutput), Artifact: "artifact_id",
		Run: runWith(func(_ context.Context, root *os.Root, in writeOf, artifact []byte) (writeResult, error) {
			name, err := writable(in.Path)
			if err != nil {
				return writeResult{}, err
			}
			content, err := in.bytes(artifact)
			if err != nil {
				return writeResult{}, err
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

// permissions returns the permissions of a file, existing or new.
func permissions(root *os.Root, name string) (perm fs.FileMode, there bool) {
	info, err := root.Lstat(name)
	if err != nil {
		return usualMode, false
	}
	return info.Mode().Perm(), true
}
