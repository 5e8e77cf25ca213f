package claude_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/environment"
	"harness/tests/runtimetest"
)

// A server dies after a session gets a home and a process, and before it is stored. The next server ends the process
// and removes the home. It keeps homes of known sessions, and of unknown ones with messages.
func TestHomeOfUnstoredSessionIsDeleted(t *testing.T) {
	t.Parallel()
	homes := environment.Homes{Dir: filepath.Join(t.TempDir(), "credentials")}
	home := func(session string) environment.Home {
		t.Helper()
		made, err := homes.Of(environment.LevelEphemeral, "claude", "", session)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	known := map[string]bool{}
	s := &stage{Store: runtimetest.NewStore(), t: t}
	s.rig = newRig(t, s.Store, true)
	s.setup.SessionHome = func(session string) (environment.Home, []string, error) { return home(session), nil, nil }
	s.setup.ForgetHome = func(session string) error { return homes.Forget("claude", session) }
	s.setup.SessionHomes = func() ([]string, error) { return homes.Sessions("claude") }
	s.setup.KnownSession = func(_ context.Context, session string) (bool, error) {
		if session == "unclear" {
			return false, errors.New("the database is away")
		}
		return known[session], nil
	}
	s.Agent = s.start(t)
	controls := open()
	controls.Cwd, controls.SessionID = s.dir, "01a1fbb8-c2da-7e63-acae-680bdab083fd"
	thread, err := s.StartThread(t.Context(), controls)
	if err != nil {
		t.Fatal(err)
	}
	for name, kept := range map[string]bool{"probe": false, "Known=Well": true, "said": false, "unclear": false} {
		home(name)
		known[name] = kept
	}
	if err := os.MkdirAll(filepath.Join(home("said").Dir, "claude", "projects", "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Leave(t)
	next := s.Next(t)
	if processes := next.Status().Processes; len(processes) != 0 {
		t.Errorf("it goes on with %v", processes)
	}
	// Stop waits for the work that Start started.
	if err := next.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for session, stays := range map[string]bool{thread.ID: false, "probe": false, "Known=Well": true, "said": true,
		"unclear": true} {
		found, err := homes.Sessions("claude")
		if err != nil {
			t.Fatal(err)
		}
		there := false
		for _, one := range found {
			there = there || one == session
		}
		if there != stays {
			t.Errorf("the home of %s is there: %t", session, there)
		}
	}
	for _, signal := range s.Signals() {
		if signal.Kind == runtime.SignalExited && signal.Generation != s.Generations()[0] {
			t.Errorf("the end of %s is published", signal.Generation)
		}
	}
}
