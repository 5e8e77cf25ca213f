package claude

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"harness/internal/runtime"
)

// memoryChunk is the number of bytes of a history in one search step.
const memoryChunk = 1 << 20

// SnapshotFiles implements runtime.Movable. The file is the history of a conversation, in a folder named after the
// working directory. Long tool results in separate files are not included.
func (r *Runtime) SnapshotFiles(in runtime.ResumeThread) (folder string, names []string, err error) {
	if folder, err = r.stateOf(in.ThreadID); err != nil {
		return "", nil, err
	}
	t := r.conversation(in.ThreadID, in.NativeID)
	names, err = fs.Glob(os.DirFS(folder), "projects/*/"+cmp.Or(t.nextState().Cleared, t.described().NativeID)+".jsonl")
	return folder, names, err
}

// SnapshotWritten implements runtime.Movable. Claude Code writes its output with a short delay.
func (r *Runtime) SnapshotWritten(ctx context.Context, in runtime.ResumeThread) (bool, error) {
	t := r.conversation(in.ThreadID, in.NativeID)
	if err := r.recall(ctx, t); err != nil {
		return false, err
	}
	said := t.nextState().Said
	if said == "" {
		return true, nil // nothing
	}
	folder, names, err := r.SnapshotFiles(in)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		found, err := holds(filepath.Join(folder, filepath.FromSlash(name)), []byte(`"uuid":"`+said+`"`))
		if err != nil || found {
			return found, err
		}
	}
	return false, nil
}

// SnapshotPath implements runtime.Movable.
func (r *Runtime) SnapshotPath(_ runtime.ResumeThread, _, name string) (string, error) {
	return name, nil
}

// nextState returns the current state for the next process.
func (t *conversation) nextState() state {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.live != nil {
		if spoken := t.live.spoken.Load(); spoken != nil {
			return spoken.now().carried
		}
	}
	return t.carried
}

// holds reports whether a file contains certain texts, searching from its end.
func holds(path string, words []byte) (found bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("read the history of a conversation: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return false, fmt.Errorf("read the history of a conversation: %w", err)
	}
	part := make([]byte, memoryChunk+len(words))
	for end := info.Size(); end > 0; end -= memoryChunk {
		n, err := file.ReadAt(part, max(0, end-memoryChunk))
		if err != nil && !errors.Is(err, io.EOF) {
			return false, fmt.Errorf("read the history of a conversation: %w", err)
		}
		if bytes.Contains(part[:n], words) {
			return true, nil
		}
	}
	return false, nil
}
