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

// historyHead is how much (bytes) of a history is read to see whose it is: its first line says so.
const historyHead = 4 << 10

// projectMark is the file with the path of the folder whose histories are beside it.
const projectMark = ".project_root"

// SnapshotFiles implements runtime.Movable: the history of a conversation, in a folder that the agent names for the
// folder it works in.
func (r *Runtime) SnapshotFiles(in runtime.ResumeThread) (folder string, names []string, err error) {
	folder = r.lookup("HOME")
	native := cmp.Or(in.NativeID, in.ThreadID)
	if len(native) < 8 || strings.ContainsAny(native, `/\*?[`) {
		return folder, nil, nil
	}
	home, err := os.OpenRoot(folder) // what an agent put there must not lead out of it
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

// begins reports whether a file's beginning has some words.
func begins(home *os.Root, name, words string) (is bool, err error) {
	file, err := home.Open(name)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	head, err := io.ReadAll(io.LimitReader(file, historyHead))
	return bytes.Contains(head, []byte(words)), err
}

// SnapshotWritten implements runtime.Movable. The agent has written a turn to its files when it reports the end.
// One that could not, for lack of space, writes nothing more of that conversation.
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

// SnapshotPath implements runtime.Movable: in the folder that the agent here has for the histories of cwd, which is made
// where it has none yet. It takes any that is marked with that path.
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
	if p := protocolOf(r.process.Current()); p != nil { // it may have been loaded here before
		p.closed(cmp.Or(in.NativeID, in.ThreadID))
	}
	return path.Join(folder, "chats", path.Base(name)), nil
}

// markProject makes the folder of a project's histories.
func markProject(home *os.Root, folder, cwd string) error {
	if err := home.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	mark := path.Join(folder, projectMark)
	return errors.Join(home.WriteFile(mark, []byte(cwd), 0o600), environment.GiveToOwner(home, mark))
}
