// Package worktree gives sessions a git worktree of their own, beside the repository that they work on.
//
// It owns how worktrees are made, finished after a crash, and removed without a loss: a removed folder stays in the
// trash for a week, and its branch stays in the repository. The package must never know what a session is.
package worktree

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/durable"
	"harness/internal/lib/shadow"
)

// Options configure a Service. Dir, Root and Logger are required.
type Options struct {
	// Dir is the folder of the records. Agents must not reach it. Root is the folder of the worktrees.
	Dir, Root string
	// Keep lists folders whose repositories get no worktrees: the server's own.
	Keep []string
	// Refuse, when set, is why there are no worktrees here.
	Refuse string
	Logger zerolog.Logger
	// Clock defaults to time.Now.
	Clock func() time.Time
	// Step is called before each step that a crash may separate from the one before; nil except in tests.
	Step func(name string)
}

// State is what a worktree is.
type State string

// The states of a worktree.
const (
	// Making is for a worktree that no session has got yet. It is removed after a crash.
	Making State = "making"
	Ready  State = "ready"
	// Trash is for a removed worktree. Its folder is deleted after a week.
	Trash State = "trash"
)

// Worktree is the record of a worktree.
type Worktree struct {
	ID         string          `json:"id"`
	Repository shadow.Location `json:"repository"`
	// Folder is the top of the worktree. Base is the commit at which Branch began.
	Folder    string    `json:"folder"`
	Branch    string    `json:"branch"`
	Base      string    `json:"base"`
	State     State     `json:"state"`
	CreatedAt time.Time `json:"createdAt"`
	RemovedAt time.Time `json:"removedAt,omitzero"`
}

// Cwd is the folder of the worktree in which the session works.
func (w Worktree) Cwd() string { return filepath.Join(w.Folder, w.Repository.Prefix) }

// Has reports whether a folder is in the worktree.
func (w Worktree) Has(folder string) bool {
	inside, err := filepath.Rel(w.Folder, folder)
	return err == nil && filepath.IsLocal(inside)
}

// Wish selects how a worktree is made.
type Wish struct {
	// Folder is in the repository. Base is a commit, "" for the last one. Branch is the new branch; "" makes a name.
	Folder, Base, Branch string
	// Within, if set, is the folder that must contain the repository.
	Within string
}

// RefusedError says why a worktree is not made or removed, with the remedy.
type RefusedError struct{ Reason string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Reason }

// ErrNotFound means that there is no such worktree on this server.
var ErrNotFound = errors.New("this server has no such worktree")

// keptTrash is how long removed worktrees are kept.
const keptTrash = 7 * 24 * time.Hour

// Service makes and removes worktrees. Make it with New; call Start first and Stop last.
type Service struct {
	opts Options

	mu      sync.Mutex // held while a worktree is removed
	work    sync.WaitGroup
	running context.Context // ends with Stop
	end     context.CancelFunc
}

// New makes a Service.
func New(options Options) *Service {
	if options.Clock == nil {
		options.Clock = time.Now
	}
	if options.Step == nil {
		options.Step = func(string) {}
	}
	s := &Service{opts: options}
	s.running, s.end = context.WithCancel(context.Background())
	return s
}

// Start finishes what a crash cut off: worktrees that no session got are removed, removals are completed.
func (s *Service) Start(ctx context.Context) error {
	if err := os.MkdirAll(s.opts.Dir, 0o700); err != nil {
		return err
	}
	all, err := s.all()
	if err != nil {
		return err
	}
	for _, one := range all {
		switch one.State {
		case Making:
			err = s.discard(ctx, one)
		case Trash:
			err = s.moveToTrash(one)
		case Ready:
			continue
		}
		if err != nil {
			s.opts.Logger.Error().Err(err).Str("worktree", one.Folder).Msg("a worktree could not be removed; it is tried again at the next start")
		}
	}
	s.work.Go(s.emptyTrash)
	return nil
}

// Stop waits for the work in the background. It may be called twice.
func (s *Service) Stop(context.Context) error {
	s.end()
	s.work.Wait()
	return nil
}

// Make makes a worktree with a new branch. Call Keep once a session has it, or Discard. *RefusedError.
func (s *Service) Make(ctx context.Context, wish Wish) (made Worktree, err error) {
	if made, err = s.plan(ctx, wish); err != nil {
		return made, refused(err)
	}
	s.opts.Step("record")
	if err := s.write(made); err != nil {
		return made, err
	}
	if err = s.build(ctx, made); err != nil {
		return made, errors.Join(refused(err), s.discard(context.WithoutCancel(ctx), made))
	}
	return made, nil
}

// plan checks a wish and names the worktree.
func (s *Service) plan(ctx context.Context, wish Wish) (Worktree, error) {
	if s.opts.Refuse != "" {
		return Worktree{}, &RefusedError{s.opts.Refuse}
	}
	at, err := shadow.Locate(wish.Folder)
	if err != nil {
		return Worktree{}, err
	}
	common, err := filepath.EvalSymlinks(at.Common)
	if err != nil {
		return Worktree{}, err
	}
	if slices.ContainsFunc(s.opts.Keep, func(kept string) bool { return contains(kept, common) }) {
		return Worktree{}, &RefusedError{"the repository of " + wish.Folder + " is the server's own"}
	}
	if wish.Within != "" && (!contains(wish.Within, common) || !contains(wish.Within, at.Root)) {
		return Worktree{}, &RefusedError{"the repository is not in the folder of the project; a worktree would show more than the project"}
	}
	id := make([]byte, 4)
	if _, err := rand.Read(id); err != nil {
		return Worktree{}, err
	}
	made := Worktree{ID: hex.EncodeToString(id), Repository: at, Branch: wish.Branch, Base: at.Head, State: Making,
		CreatedAt: s.opts.Clock().UTC()}
	if wish.Base != "" {
		if made.Base, err = at.Resolve(ctx, wish.Base); err != nil {
			return made, err
		}
	}
	if made.Branch == "" {
		made.Branch = "harness/" + made.ID
	}
	if err := os.MkdirAll(s.opts.Root, 0o755); err != nil {
		return made, &RefusedError{fmt.Sprintf("the folder of worktrees cannot be made: %v; make it, writable for the server", err)}
	}
	root, err := filepath.EvalSymlinks(s.opts.Root)
	sum := sha256.Sum256([]byte(common))
	made.Folder = filepath.Join(root, nameOf(at)+"-"+hex.EncodeToString(sum[:4]), made.ID)
	return made, err
}

// nameOf is what people call a repository.
func nameOf(at shadow.Location) string {
	name := strings.TrimSuffix(filepath.Base(at.Root), ".git")
	return cmp.Or(strings.Trim(unsafe().ReplaceAllString(name, "-"), "-."), "repository")
}

// unsafe matches what the name of a folder does not need.
var unsafe = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9._-]+`) })

// build adds the worktree and its files.
func (s *Service) build(ctx context.Context, made Worktree) error {
	// A repository around the folder of worktrees does not show them.
	if err := os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(made.Folder)), ".gitignore"), []byte("*\n"), 0o644); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(made.Folder), 0o755); err != nil {
		return err
	}
	s.opts.Step("link")
	if err := made.Repository.Link(ctx, made.Folder, made.Branch, made.Base); err != nil {
		return err
	}
	s.opts.Step("fill")
	if err := shadow.Fill(ctx, made.Folder, s.temporary(made.ID)); err != nil {
		return err
	}
	if _, err := os.Stat(made.Cwd()); err != nil {
		return &RefusedError{fmt.Sprintf("the commit has no folder %s", made.Repository.Prefix)}
	}
	s.opts.Step("made")
	return nil
}

// Keep stores that a session has a worktree.
func (s *Service) Keep(made Worktree) error {
	made.State = Ready
	return s.write(made)
}

// Discard removes a worktree that no session has got, with its branch.
func (s *Service) Discard(ctx context.Context, made Worktree) error {
	return s.discard(context.WithoutCancel(ctx), made)
}

func (s *Service) discard(ctx context.Context, made Worktree) error {
	s.opts.Step("discard folder")
	if err := os.RemoveAll(made.Folder); err != nil {
		return err
	}
	s.opts.Step("discard branch")
	if err := made.Repository.DropBranch(ctx, made.Folder, made.Branch, made.Base); err != nil && !gone(made) {
		return err
	}
	s.opts.Step("discard link")
	if err := made.Repository.Unlink(made.Folder); err != nil && !gone(made) {
		return err
	}
	s.opts.Step("discard record")
	return errors.Join(os.RemoveAll(s.temporary(made.ID)), s.forget(made.ID))
}

// gone reports whether the repository of a worktree was removed.
func gone(made Worktree) bool {
	_, err := os.Stat(made.Repository.Common)
	return errors.Is(err, fs.ErrNotExist)
}

// contains reports whether a folder is another one, or above it.
func contains(folder, other string) bool {
	inside, err := filepath.Rel(folder, other)
	return err == nil && filepath.IsLocal(inside)
}

// refused turns a refusal of the repository into *RefusedError.
func refused(err error) error {
	var no *shadow.RefusedError
	if errors.As(err, &no) {
		return &RefusedError{no.Reason}
	}
	return err
}

func (s *Service) record(id string) string    { return filepath.Join(s.opts.Dir, id+".json") }
func (s *Service) temporary(id string) string { return filepath.Join(s.opts.Dir, id+".git") }

func (s *Service) write(one Worktree) error {
	content, err := json.Marshal(one)
	if err != nil {
		return err
	}
	return durable.Write(s.record(one.ID), content)
}

func (s *Service) forget(id string) error {
	if err := os.Remove(s.record(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// all reads the records, in the order in which the worktrees were made.
func (s *Service) all() ([]Worktree, error) {
	found, err := filepath.Glob(filepath.Join(s.opts.Dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []Worktree
	for _, path := range found {
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var one Worktree
		if err == nil {
			err = json.Unmarshal(content, &one)
		}
		if err != nil {
			return nil, fmt.Errorf("read the record of a worktree, %s: %w", path, err)
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b Worktree) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return all, nil
}
