// Package trust stores the operator's consents: files and folders by path and hash of their content, like direnv.
//
// It owns the file of consents and how content is hashed. It must never know the meaning or the effect of a consent.
package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"harness/internal/lib/durable"
)

const storeFile = "trust.json"

// Store is one user's file of consents. Each check rereads it, so that a new consent applies to running servers.
type Store struct {
	folder string
	// problem is why the store has no file.
	problem error
}

// ErrNoHome means that there is no folder for consents.
var ErrNoHome = errors.New("no folder for consents: set HOME, or XDG_STATE_HOME to an absolute path")

// Open finds the store of the environment's user: XDG_STATE_HOME/harness, else HOME/.local/state/harness. It creates
// nothing. lookup is os.Getenv. Without either variable the store has no consents.
func Open(lookup func(string) string) *Store {
	if state := lookup("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return &Store{folder: filepath.Join(state, "harness")}
	}
	if home := lookup("HOME"); filepath.IsAbs(home) {
		return &Store{folder: filepath.Join(home, ".local", "state", "harness")}
	}
	return &Store{problem: ErrNoHome}
}

// MakeFolder creates the store's folder and returns it, because only an existing folder can be protected.
func (s *Store) MakeFolder() (string, error) {
	if s.problem != nil {
		return "", s.problem
	}
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return "", fmt.Errorf("make the folder of consents: %w", err)
	}
	return s.folder, nil
}

// All returns the consents: hash by path.
func (s *Store) All() (map[string]string, error) {
	all := map[string]string{}
	if s.problem != nil {
		return all, nil
	}
	path := filepath.Join(s.folder, storeFile)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the consents: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the consents: %w", err)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf(
			"%s can be written by others than its owner, so it says nothing: chmod 600 it when its content is yours", path)
	}
	if err := json.NewDecoder(file).Decode(&all); err != nil {
		return nil, fmt.Errorf("%s is not readable (repair it, or remove it and consent again): %w", path, err)
	}
	return all, nil
}

// Trusted reports whether the operator consented to content with this hash at this path (see Place).
func (s *Store) Trusted(place, hash string) (bool, error) {
	all, err := s.All()
	return err == nil && hash != "" && all[place] == hash, err
}

// Grant records consent to content at its path and replaces an earlier consent there.
func (s *Store) Grant(hashes map[string]string) error {
	return s.change(func(all map[string]string) error {
		for place, hash := range hashes {
			all[place] = hash
		}
		return nil
	})
}

// ErrNotTrusted means that there is no consent to revoke.
var ErrNotTrusted = errors.New("was not consented to")

// Revoke removes a consent.
func (s *Store) Revoke(place string) error {
	return s.change(func(all map[string]string) error {
		if _, there := all[place]; !there {
			return fmt.Errorf("%s %w", place, ErrNotTrusted)
		}
		delete(all, place)
		return nil
	})
}

// change rewrites the file, one writer at a time; a crash leaves the complete old or new file.
func (s *Store) change(edit func(map[string]string) error) (err error) {
	folder, err := s.MakeFolder()
	if err != nil {
		return err
	}
	lock, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("lock the consents: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock the consents: %w", err)
	}
	all, err := s.All()
	if err != nil {
		return err
	}
	if err := edit(all); err != nil {
		return err
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.Write(filepath.Join(folder, storeFile), append(text, '\n')); err != nil {
		return fmt.Errorf("write the consents: %w", err)
	}
	return nil
}

// Place returns the path of content: absolute, with links in its folders resolved. It keeps a link in the last element,
// because the consent is for the content at this path, not for another link's target.
func Place(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(absolute); err == nil && info.IsDir() {
		return filepath.EvalSymlinks(absolute)
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(absolute))
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, filepath.Base(absolute)), nil
}

// Remedy explains how to consent to content with a hash at a path.
func Remedy(place, hash string) string {
	return fmt.Sprintf("there is no consent to its present content (%s): review it, then run: harness trust %s", hash,
		Quote(place))
}

// Quote quotes a path for a shell.
func Quote(path string) string {
	if !strings.ContainsFunc(path, func(r rune) bool { return !strings.ContainsRune(plain, r) }) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@:,="
