package backup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// An entry that is briefly replaced is opened as the original. One that stays unreadable ends the backup, and one that
// is replaced for good is reported as replaced.
func TestAnEntryIsOpenedAgainWhileItIsWhatItWas(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	plain, aside := filepath.Join(home, "f"), filepath.Join(home, "aside")
	dir, err := os.OpenRoot(home)
	if err = errors.Join(err, os.WriteFile(plain, []byte("mine"), 0o600)); err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	checked, err := dir.Lstat("f")
	if err != nil {
		t.Fatal(err)
	}
	tries := 0
	err = again(dir, "f", checked, func() error {
		if tries++; tries > 1 {
			file, err := openFile(dir, "f", checked)
			return errors.Join(err, file.Close())
		}
		swapped := errors.Join(os.Rename(plain, aside), os.Symlink("/etc/hostname", plain))
		_, err := openFile(dir, "f", checked)
		if back := errors.Join(swapped, os.Remove(plain), os.Rename(aside, plain)); back != nil {
			t.Fatal(back)
		}
		return err
	})
	if err != nil || tries != 2 {
		t.Errorf("a link that was there for a moment: %v after %d tries", err, tries)
	}
	wrong, tries := errors.New("input/output error"), 0
	if err = again(dir, "f", checked, func() error { tries++; return wrong }); !errors.Is(err, wrong) || tries != openTries {
		t.Errorf("what stays unreadable: %v after %d tries", err, tries)
	}
	err = again(dir, "f", checked, func() error {
		return errors.Join(wrong, os.Rename(plain, aside), os.WriteFile(plain, nil, 0o600))
	})
	if !errors.Is(err, errOther) {
		t.Errorf("what became another: %v", err)
	}
}
