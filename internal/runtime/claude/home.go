package claude

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"harness/internal/runtime"
	"harness/internal/runtime/environment"
)

// stateFolder is the folder of Claude Code's state in a home.
const stateFolder = "claude"

// home returns the home of a session and the folders that must stay visible; zero when all sessions share one. It
// creates a missing home.
func (r *Runtime) home(session string) (environment.Home, []string, error) {
	if r.setup.SessionHome == nil {
		return environment.Home{}, nil, nil
	}
	return r.setup.SessionHome(session)
}

// stateOf returns the state folder of a session's agent.
func (r *Runtime) stateOf(session string) (string, error) {
	home, _, err := r.home(session)
	if err != nil || home.Dir == "" {
		return r.configDir(), err
	}
	return filepath.Join(home.Dir, stateFolder), nil
}

// configDir returns the state folder of agents without a session's own home.
func (r *Runtime) configDir() string {
	if dir := r.launcher.Variable("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(r.launcher.Variable("HOME"), ".claude")
}

// ForgetThread implements runtime.Forgetter. It deletes Claude Code's files of the conversation, and the session's
// own home.
func (r *Runtime) ForgetThread(ctx context.Context, in runtime.ResumeThread) (deletedFiles int, err error) {
	t := r.conversation(in.ThreadID, in.NativeID)
	if err := r.set.Close(ctx, t.thread); err != nil {
		return 0, err
	}
	if r.setup.SessionHome == nil {
		for _, native := range []string{t.described().Native(), t.nextState().Cleared} {
			if native == "" {
				continue
			}
			files, err := forget(r.configDir(), native)
			if err != nil {
				return 0, fmt.Errorf("remove what Claude Code wrote of session %s: %w", t.thread, err)
			}
			deletedFiles += files
		}
	}
	if r.setup.ForgetHome != nil {
		if err := r.setup.ForgetHome(t.thread); err != nil {
			return 0, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.talks, t.thread)
	return deletedFiles, nil
}

// forget deletes the files named after a conversation in a folder of Claude Code's state, and returns their number.
// It follows no links out of the folder.
func forget(configDir, native string) (files int, err error) {
	root, err := os.OpenRoot(configDir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = root.Close() }() // it was only read
	for _, pattern := range []string{path.Join("*", native+"*"), path.Join("projects", "*", native+"*")} {
		found, err := fs.Glob(root.FS(), pattern)
		if err != nil {
			return files, err
		}
		for _, name := range found {
			if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
				files++
			}
			if err := root.RemoveAll(name); err != nil {
				return files, err
			}
		}
	}
	return files, nil
}

// forgotten reports whether a session with a home or a process is not stored, because the server died before that. If
// unknown, it returns false.
func (r *Runtime) forgotten(ctx context.Context, session string) bool {
	if r.setup.KnownSession == nil {
		return false
	}
	known, err := r.setup.KnownSession(ctx, session)
	if err != nil {
		r.setup.Launch.Logger.Warn().Err(err).Str("session", session).Msg("cannot find out whether a session is stored")
		return false
	}
	return !known
}

// sweepHomes deletes the homes of sessions that were never stored, after their stray processes are gone. It always
// keeps a home with messages: another database may have its session.
func (r *Runtime) sweepHomes(ctx context.Context, strays []*process) {
	if r.setup.SessionHomes == nil {
		return
	}
	log := r.setup.Launch.Logger
	sessions, err := r.setup.SessionHomes()
	if err != nil {
		log.Warn().Err(err).Msg("homes of sessions that never came to be are not looked for")
	}
	sessions = slices.DeleteFunc(sessions, func(session string) bool {
		if !r.forgotten(ctx, session) {
			return true
		}
		dir, err := r.stateOf(session)
		said := true
		if err == nil {
			said, err = anySaid(dir)
		}
		if err != nil {
			log.Warn().Err(err).Str("session", session).Msg("the home of an unknown session is left alone")
		}
		return said
	})
	if len(sessions) == 0 {
		return
	}
	r.working.Go(func() {
		for _, p := range strays {
			<-p.Done()
		}
		for _, session := range sessions {
			if err := r.setup.ForgetHome(session); err != nil {
				log.Warn().Err(err).Str("session", session).Msg("the home of a session that never came to be is left")
				continue
			}
			log.Info().Str("session", session).Msg("removed the home of a session that never came to be")
		}
	})
}

// anySaid reports whether a folder of Claude Code's state has any history. An unreadable folder may have one.
func anySaid(configDir string) (bool, error) {
	projects, err := os.ReadDir(filepath.Join(configDir, "projects"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err != nil || len(projects) > 0, err
}
