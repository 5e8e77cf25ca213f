package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"harness/extensions"
	"harness/internal/lib/durable"
	"harness/internal/lib/trust"
	"harness/internal/platform/config"
	"harness/server/datadir"
)

// A folder of extensions that does not exist cannot be protected from runtimes: a mount needs an existing mount point.
// So the server creates an empty one while runtimes live, and removes it afterwards if it is still empty. If it cannot
// create the folder, it notes that in the data directory, which runtimes cannot see: a folder that appears there later
// may be an agent's and needs the operator's consent. With that consent, and once no earlier runtime is left, the
// folder is protected and the note is removed.

const (
	// unprotectedFile lists the roots that could not be protected; madeFile lists the roots that the server created.
	unprotectedFile = "unprotected-roots.json"
	madeFile        = "made-roots.json"
)

// notedRoots returns the roots in a note by configured place, absolute. An unreadable note is an error: without it the
// server could not refuse any root.
func notedRoots(dataDir, file string) (map[string]bool, error) {
	noted := map[string]bool{}
	content, err := os.ReadFile(filepath.Join(dataDir, file))
	if errors.Is(err, fs.ErrNotExist) {
		return noted, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which folders of extensions did not exist: %w", err)
	}
	if err := json.Unmarshal(content, &noted); err != nil {
		return nil, fmt.Errorf("%s is not readable (remove it when the folders of extensions hold only what you know): %w",
			filepath.Join(dataDir, file), err)
	}
	return noted, nil
}

func noteRoots(dataDir, file string, noted map[string]bool) error {
	text, err := json.Marshal(noted)
	if err != nil {
		return err
	}
	if err := durable.Write(filepath.Join(dataDir, file), append(text, '\n')); err != nil {
		return fmt.Errorf("note which folders of extensions did not exist: %w", err)
	}
	return nil
}

// protectedRoots returns the paths of extension roots that runtimes cannot change. A missing root is protected for a
// runtime that restarts later. It records the roots that cannot be protected now.
func (s *runtimes) protectedRoots() (places []string, err error) {
	noted, err := notedRoots(s.dir.Path, unprotectedFile)
	if err != nil {
		return nil, err
	}
	left, err := s.surviving()
	if err != nil {
		return nil, err
	}
	var changed bool
	for _, root := range ExtensionRoots(s.cfg, s.workspace) {
		path, err := filepath.Abs(root.Path)
		if err != nil {
			return nil, err
		}
		place, err := datadir.RealPath(path)
		if errors.Is(err, fs.ErrNotExist) && len(left) == 0 { // an earlier runtime could write into it
			if place, err = s.makeRoot(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			changed = changed || err == nil && noted[path]
			if err == nil {
				delete(noted, path)
			}
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			changed, noted[path] = changed || !noted[path], true
			if place, err = datadir.EntryPlace(path); err != nil {
				continue // its parent folder does not exist either
			}
		case err != nil:
			return nil, fmt.Errorf("find the extension root %s: %w", path, err)
		case noted[path] && len(left) == 0 && s.consents.Knows(place):
			changed = true
			delete(noted, path)
		}
		places = append(places, place)
	}
	if changed {
		err = noteRoots(s.dir.Path, unprotectedFile, noted)
	}
	return places, err
}

// makeRoot creates a missing root, and first notes it so that it is removed later. It returns fs.ErrNotExist if it
// cannot create the root.
func (s *runtimes) makeRoot(path string) (place string, err error) {
	made, err := notedRoots(s.dir.Path, madeFile)
	if err == nil && !made[path] {
		made[path] = true
		err = noteRoots(s.dir.Path, madeFile, made)
	}
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(path, 0o755); err != nil { //nolint:gosec // the folder of extensions is no secret
		return "", fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return datadir.RealPath(path)
}

// shimsEnd is the time that a shim may outlive its runtime; shimsPoll is the interval of that check.
const (
	shimsEnd  = 5 * time.Second
	shimsPoll = 20 * time.Millisecond
)

// removeMadeRoots removes the created roots when no runtime is left and they are still empty.
func (s *runtimes) removeMadeRoots() error {
	made, err := notedRoots(s.dir.Path, madeFile)
	if err != nil || len(made) == 0 {
		return err
	}
	left, err := s.surviving()
	for limit := time.After(shimsEnd); err == nil && len(left) > 0 && !s.cfg.KeepRuntimes; left, err = s.surviving() {
		select {
		case <-limit:
			s.log.Warn().Strs("generations", left).
				Msg("the empty folders of extensions that were made for this run stay: runtimes of it are not gone, or what " +
					"they said last is not stored; the next stop removes them")
			return nil
		case <-time.After(shimsPoll):
		}
	}
	if err != nil || len(left) > 0 {
		return err
	}
	for path := range made {
		if err := syscall.Rmdir(path); err != nil && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn().Err(err).Str("path", path).
				Msg("the empty folder of extensions that was made for this run could not be removed")
		}
	}
	return os.Remove(filepath.Join(s.dir.Path, madeFile))
}

// markUnprotected marks the roots that need consent.
func markUnprotected(dataDir string, roots []extensions.Root) ([]extensions.Root, error) {
	noted, err := notedRoots(dataDir, unprotectedFile)
	if err != nil {
		return nil, err
	}
	roots = slices.Clone(roots)
	for i, root := range roots {
		path, err := filepath.Abs(root.Path)
		if err != nil {
			return nil, err
		}
		roots[i].Consent = noted[path]
	}
	return roots, nil
}

// HashUnprotected adds the noted roots that exist: hash by place.
func HashUnprotected(cfg *config.Config, workspace string, hashes map[string]string) error {
	roots, err := markUnprotected(cfg.DataDir, ExtensionRoots(cfg, workspace))
	if err != nil {
		return err
	}
	for _, root := range roots {
		place, err := datadir.RealPath(root.Path)
		if !root.Consent || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			hashes[place], err = trust.HashFolder(place, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
