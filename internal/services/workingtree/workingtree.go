// Package workingtree reports what sessions changed in their folders.
//
// It owns the states of folders before and after turns (checkpoints), and reads every answer from them: what an agent
// announced does not count. A checkpoint is a name in the shadow of the folder, so no table can contradict it. The
// package must never know a runtime. Restore alone changes a folder; nothing changes a person's repository.
package workingtree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/shadow"
)

// Options configure a Service. Dir, FolderOf and Logger are required.
type Options struct {
	// Dir is the folder of the shadows, below the data directory. Agents must not reach it.
	Dir string
	// Keep lists folders that are not watched, nor any folder above them (the data directory, the user's home).
	Keep []string
	// Refuse, when set, is why no folder is watched here.
	Refuse string
	// FolderOf returns the folder of a session, "" for none.
	FolderOf func(ctx context.Context, sessionID string) (string, error)
	// Git is the program ("git" by default).
	Git string
	// Publish, when set, publishes what a session changed during and after its turns.
	Publish func(ctx context.Context, update Update) error
	Logger  zerolog.Logger
	// Clock defaults to time.Now.
	Clock func() time.Time
}

// Service watches the folders of sessions. Make it with New; call Start first and Stop last.
type Service struct {
	opts Options

	ended atomic.Int64 // when a turn ended last, in nanoseconds

	mu      sync.Mutex
	folders map[string]*folder
	// updating are the sessions whose folder is about to be read for an update.
	updating map[string]bool
	// tails are closed at the end of the last work on a session's turns: it is done in order.
	tails   map[string]chan struct{}
	stopped bool
	work    sync.WaitGroup
	running context.Context // ends with Stop
	end     context.CancelFunc
}

// folder is one watched folder.
type folder struct {
	path string

	mu       sync.Mutex // held while the fields below change
	shadow   *shadow.Shadow
	state    shadow.State
	captured time.Time // the end of the last capture
	turns    turnCache
	active   map[string]turn // the running turns, by session
	// published are the trees of the last updates, by session.
	published map[string]string

	wanted     atomic.Int32 // callers that wait for the lock
	collecting atomic.Pointer[context.CancelCauseFunc]
}

// UnavailableError says why the changes of a folder are unknown, with the remedy.
type UnavailableError struct{ Reason string }

// Error implements error.
func (e *UnavailableError) Error() string { return e.Reason }

// New makes a Service.
func New(options Options) *Service {
	if options.Clock == nil {
		options.Clock = time.Now
	}
	s := &Service{opts: options, folders: map[string]*folder{}, updating: map[string]bool{}, tails: map[string]chan struct{}{}}
	s.running, s.end = context.WithCancel(context.Background())
	return s
}

// Start makes the folder of the shadows.
func (s *Service) Start(context.Context) error {
	return os.MkdirAll(s.opts.Dir, 0o700)
}

// Stop ends running captures and waits for them. It may be called twice. Later turns have no checkpoints.
func (s *Service) Stop(context.Context) error {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.end()
	s.work.Wait()
	return nil
}

// begin admits work that Stop waits for; false after Stop.
func (s *Service) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.work.Add(1)
	return true
}

// inOrder returns when the earlier work on a session's turns is done, and what the caller calls after its own.
func (s *Service) inOrder(sessionID string) (before <-chan struct{}, done func()) {
	own := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.tails[sessionID]
	if last == nil {
		last = make(chan struct{})
		close(last)
	}
	s.tails[sessionID] = own
	return last, func() {
		close(own)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.tails[sessionID] == own {
			delete(s.tails, sessionID)
		}
	}
}

// minFree is the free disk space in bytes below which no state is stored.
const minFree = 1 << 30

// watch returns a folder, locked. *UnavailableError.
func (s *Service) watch(ctx context.Context, path string) (*folder, error) {
	if err := s.refuse(path); err != nil {
		return nil, err
	}
	one := s.folder(path)
	one.lock()
	if one.shadow != nil {
		return one, nil
	}
	opened, err := shadow.Open(ctx, shadow.Options{Folder: path, Dir: s.shadowOf(path), Git: s.opts.Git})
	if err != nil {
		one.mu.Unlock()
		return nil, unavailable(err)
	}
	one.shadow = opened
	return one, nil
}

// folder returns the folder of a path.
func (s *Service) folder(path string) *folder {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.folders[path]
	if one == nil {
		one = &folder{path: path, active: map[string]turn{}}
		s.folders[path] = one
	}
	return one
}

// lock locks a folder. It ends a collection.
func (f *folder) lock() {
	f.wanted.Add(1)
	defer f.wanted.Add(-1)
	if end := f.collecting.Load(); end != nil {
		(*end)(errWanted)
	}
	f.mu.Lock()
}

// shadowOf returns the directory of a folder's shadow.
func (s *Service) shadowOf(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(s.opts.Dir, hex.EncodeToString(sum[:12])+".git")
}

// refuse returns why a folder is not watched, nil if it may be.
func (s *Service) refuse(path string) error {
	if s.opts.Refuse != "" {
		return &UnavailableError{s.opts.Refuse}
	}
	if !filepath.IsAbs(path) {
		return &UnavailableError{"the session has no folder on this server"}
	}
	for _, kept := range append([]string{s.opts.Dir, "/"}, s.opts.Keep...) {
		if contains(path, kept) {
			return &UnavailableError{fmt.Sprintf("changes in %s are not watched, because it contains %s; use a folder of the project", path, kept)}
		}
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(s.opts.Dir, &disk); err != nil {
		return err
	}
	if free := disk.Bavail * uint64(disk.Bsize); free < minFree {
		return &UnavailableError{fmt.Sprintf("the disk of the data directory has only %d MiB left; free some space", free>>20)}
	}
	return nil
}

// contains reports whether a folder is another one, or above it.
func contains(path, other string) bool {
	to, err := filepath.Rel(path, other)
	return err == nil && to != ".." && !strings.HasPrefix(to, "../")
}

// unavailable turns what is known to prevent a capture into *UnavailableError.
func unavailable(err error) error {
	var refused *shadow.RefusedError
	switch {
	case errors.As(err, &refused):
		return &UnavailableError{refused.Reason}
	case errors.Is(err, os.ErrNotExist):
		return &UnavailableError{"the folder of the session, or git, is not on this server: " + err.Error()}
	}
	return err
}
