package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// errHidden says no more than that there is nothing for an agent here.
var errHidden = errors.New("this is the server's own, and no part of the workspace")

// visible refuses what stands in a place that is hidden. It asks where the opened file is, not what it was called: no
// link leads there.
func (l Limits) visible(file *os.File) error {
	if len(l.Hidden) == 0 {
		return nil
	}
	at, err := placeOf(file)
	if err != nil {
		return err
	}
	return refused(at, l.Hidden)
}

// placeOf is where a folder stands, "" when nothing is hidden and it does not matter.
func (l Limits) placeOf(folder *os.Root) (string, error) {
	if len(l.Hidden) == 0 {
		return "", nil
	}
	opened, err := folder.Open(".")
	if err != nil {
		return "", err
	}
	defer opened.Close()
	at, err := placeOf(opened)
	if err == nil {
		err = refused(at, l.Hidden)
	}
	return at, err
}

// changeable refuses to put a file of this name into a folder where nothing may be changed.
func (l Limits) changeable(root *os.Root, name string) error {
	if len(l.Hidden)+len(l.Fixed) == 0 {
		return nil
	}
	folder, err := root.Open(filepath.Dir(name))
	if errors.Is(err, fs.ErrNotExist) {
		// It is made below one that is there, which then decides.
		return l.changeable(root, filepath.Dir(name))
	}
	if err != nil {
		return err
	}
	defer folder.Close()
	at, err := placeOf(folder)
	if err != nil {
		return err
	}
	return refused(filepath.Join(at, filepath.Base(name)), append(l.Hidden, l.Fixed...))
}

func refused(at string, places []string) error {
	for _, place := range places {
		if at == place || strings.HasPrefix(at,
			strings.TrimSuffix(place, string(filepath.Separator))+string(filepath.Separator)) {
			return errHidden
		}
	}
	return nil
}
