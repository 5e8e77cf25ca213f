package manager

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// markFolder is what a folder is marked with: two nodes that read the same id there have the same folder. git does not
// show it, because it has a .gitignore that names everything.
const (
	markFolder = ".harness-workspace"
	markID     = "id"
	maxMark    = 1 << 10
)

// readMark is the mark of a folder, "" when it has none, or is not there.
func readMark(folder string) (string, error) {
	file, err := os.OpenInRoot(folder, markFolder+"/"+markID) // an agent may have put a link there
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the mark of %s: %w", folder, err)
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxMark))
	if err = errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("read the mark of %s: %w", folder, err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// mark gives a folder a mark, unless it has one, and returns it.
func mark(folder string) (string, error) {
	known, err := readMark(folder)
	if known != "" || err != nil {
		return known, err
	}
	if err := remark(folder, rand.Text()); err != nil {
		return "", err
	}
	return readMark(folder)
}

// remark gives a folder a mark, unless it has one.
func remark(folder, id string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("mark %s: %w", folder, err)
		}
	}()
	root, err := os.OpenRoot(folder) // whatever link an agent puts there leads nowhere else
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := root.Mkdir(markFolder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := root.WriteFile(markFolder+"/.gitignore", []byte("*\n"), 0o644); err != nil {
		return err
	}
	// Linked when it is written: who finds it reads all of it, and the first of two stays.
	made := markFolder + "/" + rand.Text()
	if err := root.WriteFile(made, []byte(id+"\n"), 0o644); err != nil {
		return err
	}
	err = root.Link(made, markFolder+"/"+markID)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, root.Remove(made))
}
