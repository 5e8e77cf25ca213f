package acp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/environment"
)

var _ runtime.Movable = (*Runtime)(nil)

// historyHead is the number of bytes of a history to read for its id, which is in the first line.
const historyHead = 4 << 10

// projectMark is the file with the path of the folder that the histories beside it belong to.
const projectMark = ".project_root"

// SnapshotFiles implements runtime.Movable. The file is the history of a conversation, in the agent's folder for the
// working directory.
func (r *Runtime) SnapshotFiles(in runtime.ResumeThread) (folder string, names []string, err error) {
	folder = r.lookup("HOME")
	native := cmp.Or(in.NativeID, in.ThreadID)
	if len(native) < 8 || strings.ContainsAny(native, `/\*?[`) {
		return folder, nil, nil
	}
	home, err := os.OpenRoot(folder) // an agent's links must not lead out of it
	if err != nil {
		return "", nil, fmt.Errorf("look for the history of conversation %s: %w", native, err)
	}
	defer func() { err = errors.Join(err, home.Close()) }()
	found, err := fs.Glob(home.FS(), strings.NewReplacer("{minute}", "*", "{id}", native[:8]).Replace(r.profile.History))
	if err != nil {
		return "", nil, fmt.Errorf("look for the history of conversation %s: %w", native, err)
	}
	for _, name := range found {
		is, err := begins(home, name, `"sessionId":"`+native+`"`)
		if err != nil {
			return "", nil, fmt.Errorf("look for the history of conversation %s: %w", native, err)
		}
		if is {
			names = append(names, name)
		}
	}
	return folder, names, nil
}

// begins reports whether the beginning of a file contains certain texts.
func begins(home *os.Root, name, words string) (is bool, err error) {
	file, err := home.Open(name)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	head, err := io.ReadAll(io.LimitReader(file, historyHead))
	return bytes.Contains(head, []byte(words)), err
}

// SnapshotWritten implements runtime.Movable. The agent has written a turn when it reports the end. After a failure
// for lack of space, it stops writing that conversation.
func (r *Runtime) SnapshotWritten(_ context.Context, in runtime.ResumeThread) (bool, error) {
	folder, names, err := r.SnapshotFiles(in)
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	began := r.began[in.ThreadID].Truncate(time.Second) // file systems have coarser clocks
	r.mu.Unlock()
	for _, name := range names {
		info, err := os.Stat(filepath.Join(folder, filepath.FromSlash(name)))
		if err != nil {
			return false, fmt.Errorf("look at the history of a conversation: %w", err)
		}
		if !info.ModTime().Before(began) {
			return true, nil
		}
	}
	return false, nil
}

// SnapshotPath implements runtime.Movable. The path is in the agent's folder for the histories of cwd, which it
// creates if missing. The agent accepts any folder marked with that path.
func (r *Runtime) SnapshotPath(in runtime.ResumeThread, cwd, name string) (place string, err error) {
	home, err := os.OpenRoot(r.lookup("HOME"))
	if err != nil {
		return "", fmt.Errorf("find the place of a history: %w", err)
	}
	defer func() { err = errors.Join(err, home.Close()) }()
	projects, _, _ := strings.Cut(r.profile.History, "/*/")
	marks, err := fs.Glob(home.FS(), path.Join(projects, "*", projectMark))
	if err != nil {
		return "", fmt.Errorf("find the place of a history: %w", err)
	}
	cwd = filepath.Clean(cwd)
	folder := ""
	for _, mark := range marks {
		owner, err := home.ReadFile(mark)
		if err != nil {
			return "", fmt.Errorf("find the place of a history: %w", err)
		}
		if strings.TrimSpace(string(owner)) == cwd {
			folder = path.Dir(mark)
			break
		}
	}
	if folder == "" {
		sum := sha256.Sum256([]byte(cwd))
		folder = path.Join(projects, "harness-"+hex.EncodeToString(sum[:8]))
		if err := markProject(home, folder, cwd); err != nil {
			return "", fmt.Errorf("make the place of a history: %w", err)
		}
	}
	if p := protocolOf(r.process.Current()); p != nil { // this process may have loaded it before
		p.closed(cmp.Or(in.NativeID, in.ThreadID))
	}
	return path.Join(folder, "chats", path.Base(name)), nil
}

// markProject creates the folder of a project's histories.
func markProject(home *os.Root, folder, cwd string) error {
	if err := home.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	mark := path.Join(folder, projectMark)
	return errors.Join(home.WriteFile(mark, []byte(cwd), 0o600), environment.GiveToOwner(home, mark))
}
