// Package gitworkspace stores the files of sessions' folders at a git remote, so that another node can restore them.
//
// It owns how a folder becomes one commit (a snapshot) and a folder again, and who may read which part in between. An
// agent may write anything to a folder, including its git configuration. So git never runs in the folder with the
// rights of this server. It runs in namespaces (bubblewrap) with access to the folder, but to nothing else on this
// machine or the network. Only a bundle of objects leaves those namespaces. The repository of this server, from which
// snapshots are pushed, is never visible there. The package must never know what a session is, and pushes only to the
// configured remote.
package gitworkspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"
)

// MaxBundleBytes bounds the data that one snapshot adds to the remote.
const MaxBundleBytes = 1 << 30

// limit is how long making a snapshot or restoring a folder may take.
const limit = 10 * time.Minute

// Options configure a Store. Dir and Remote are required.
type Options struct {
	// Dir is this server's folder for its repository and git's temporary files. Agents must not see it.
	Dir string
	// Remote is where snapshots are pushed, as git names it, without a password: a password would be in the command
	// lines of git's child processes, where agents can read it.
	Remote string
	// Bubblewrap and Git are the programs ("bwrap" and "git" by default).
	Bubblewrap, Git string
	// User, when set, is the agents' user: its rights apply to reads and writes of folders.
	User *User
}

// User is a user of this machine.
type User struct {
	UID, GID uint32
	Groups   []uint32
}

// Store stores snapshots of folders at a remote. Make it with New; call Start first and Stop last.
type Store struct {
	opts Options

	mu      sync.Mutex // held while git works: one snapshot at a time
	scratch string     // where git works on folders; agents may read and write it, so its content is not trusted
	places  []string   // its folders, the most recently used last
	started bool

	running context.Context // ends with Stop
	end     context.CancelFunc
}

// New makes a Store. It does nothing until Start.
func New(options Options) *Store {
	if options.Bubblewrap == "" {
		options.Bubblewrap = "bwrap"
	}
	if options.Git == "" {
		options.Git = "git"
	}
	s := &Store{opts: options}
	s.running, s.end = context.WithCancel(context.Background())
	return s
}

// Start makes this server's repository and checks that this machine can store folders. Its error names what is missing.
func (s *Store) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return nil
	}
	if runtime.GOOS != "linux" {
		return errors.New("folders are read in bubblewrap, which is there on Linux only")
	}
	for _, program := range []string{s.opts.Bubblewrap, s.opts.Git} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s is not there (Debian, as root: apt-get install bubblewrap git): %w", program, err)
		}
	}
	if err := s.makeRepository(ctx); err != nil {
		return err
	}
	if err := s.makeScratch(); err != nil {
		return err
	}
	probe, err := s.newScratch("probe")
	if err == nil {
		err = os.Mkdir(filepath.Join(probe, "folder"), 0o700)
	}
	if err == nil {
		err = s.chown(filepath.Join(probe, "folder"))
	}
	if err == nil {
		_, err = s.within(probe, filepath.Join(probe, "folder"), false).git(ctx, nil, "--version")
	}
	if err != nil {
		return errors.Join(fmt.Errorf("git cannot be run in bubblewrap on this machine (user namespaces may be switched off, or "+
			"git be installed outside of /usr): %w", err), os.RemoveAll(s.scratch))
	}
	s.started = true
	return nil
}

// makeScratch makes the folder in which git works, which the agents' user can access.
func (s *Store) makeScratch() (err error) {
	parent := filepath.Join(s.opts.Dir, "scratch")
	if s.opts.User != nil {
		parent = os.TempDir()
	} else if err := errors.Join(os.RemoveAll(parent), os.MkdirAll(parent, 0o700)); err != nil { // left by a killed server
		return err
	}
	if s.scratch, err = os.MkdirTemp(parent, "harness-git-"); err != nil {
		return err
	}
	return s.chown(s.scratch)
}

// chown gives a newly made folder to the agents' user.
func (s *Store) chown(path string) error {
	if s.opts.User == nil {
		return nil
	}
	return os.Lchown(path, int(s.opts.User.UID), int(s.opts.User.GID))
}

// keptPlaces is the number of folders for which git's file cache is kept.
const keptPlaces = 16

// newScratch makes a named folder for git, unless it exists, and removes the least recently used one.
func (s *Store) newScratch(name string) (string, error) {
	s.places = append(slices.DeleteFunc(s.places, func(one string) bool { return one == name }), name)
	if len(s.places) > keptPlaces {
		if err := os.RemoveAll(filepath.Join(s.scratch, s.places[0])); err != nil {
			return "", err
		}
		s.places = slices.Delete(s.places, 0, 1)
	}
	place := filepath.Join(s.scratch, name)
	err := os.Mkdir(place, 0o700)
	if errors.Is(err, os.ErrExist) {
		return place, nil
	}
	if err != nil {
		return "", err
	}
	return place, s.chown(place)
}

// Stop ends the running operation, waits for its end, and removes git's temporary files. The Store cannot be started
// again.
func (s *Store) Stop(context.Context) error {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		return nil
	}
	s.started = false
	return os.RemoveAll(s.scratch)
}

// use waits for exclusive use of git. It returns an error if the Store is not started, or if ctx ends.
func (s *Store) use(ctx context.Context) (context.Context, func(), error) {
	s.mu.Lock()
	if !s.started {
		s.mu.Unlock()
		return nil, nil, errors.New("folders are not stored any more: the server is being stopped")
	}
	if err := ctx.Err(); err != nil {
		s.mu.Unlock()
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	stop := context.AfterFunc(s.running, cancel)
	return ctx, func() { stop(); cancel(); s.mu.Unlock() }, nil
}
