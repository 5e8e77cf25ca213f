package runtimetest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"harness/internal/runtime"
	"harness/tests/polling"
)

// closes: an idle conversation releases its process and resumes with its next message; CloseThread does not affect
// one in use.
func closes(t *testing.T, s *scene) {
	thread := s.open()
	turn := s.held(thread, "c")
	if err := s.CloseThread(t.Context(), thread); !errors.Is(err, runtime.ErrTurnActive) {
		t.Errorf("close a busy conversation: %v", err)
	}
	s.Release("c")
	if end := s.End(t, turn); end.Status != runtime.TurnDone {
		t.Errorf("its turn ended %+v", end)
	}
	if err := s.await(t, func() error { return s.CloseThread(t.Context(), thread) }); err != nil {
		t.Fatalf("close it: %v", err)
	}
	for _, process := range s.Status().Processes {
		if process.Serves == thread {
			t.Errorf("it is still served by %+v", process)
		}
	}
	for _, id := range []string{thread, "01a1fbb8-c2da-7e63-acae-680bdab083fd"} {
		if err := s.CloseThread(t.Context(), id); err != nil {
			t.Errorf("close one with nothing to give back: %v", err)
		}
	}
	if end := s.End(t, s.say(thread, s.Script.Reply("again"))); end.Status != runtime.TurnDone {
		t.Errorf("the turn after it ended %+v", end)
	}
}

// loggedOut: the adapter reports a missing login before a turn, with the remedy, and its error has the right
// sentinel. A key fixes that, also for a later process.
func loggedOut(t *testing.T, s *scene) {
	auth, err := s.Auth(t.Context())
	state := runtime.AuthMissing
	if s.PollsLate {
		state = runtime.AuthUnknown
	}
	if err != nil || auth.State != state || auth.Remedy == "" || len(auth.Credentials) > 0 {
		t.Errorf("its credentials are %+v (%v)", auth, err)
	}
	ask := s.NeedsLogin
	if ask == nil {
		ask = func(ctx context.Context) error {
			_, err := s.StartTurn(ctx, runtime.StartTurn{ThreadID: s.open(), Input: Text(s.Script.Reply("no"))})
			return err
		}
	}
	thread := ""
	if s.PollsLate {
		thread = s.open()
		end := s.End(t, s.say(thread, s.Script.Reply("no")))
		if end.Status != runtime.TurnFailed || !errors.Is(end.Kind, runtime.ErrAuthRequired) {
			t.Errorf("a turn without a login ended %+v", end)
		}
	} else if err := ask(t.Context()); !errors.Is(err, runtime.ErrAuthRequired) {
		t.Errorf("what needs a login: %v", err)
	}
	if taker, takes := runtime.Has[runtime.KeyTaker](s.Adapter, runtime.OpKey); takes {
		logsIn(t, s, taker, thread)
	}
}

// logsIn: with a key turns complete: those of a conversation that failed without one (thread, "" for none), of the
// next process and of the next server. If a turn prevents the key, the adapter refuses the key and the turn
// continues.
func logsIn(t *testing.T, s *scene, taker runtime.KeyTaker, thread string) {
	if _, err := taker.TakeKey(t.Context(), runtime.ProviderKey{Provider: "nobodys", Key: s.Key.Key}); !errors.Is(err,
		runtime.ErrInvalidParams) {
		t.Errorf("a key of an unknown provider: %v", err)
	}
	if _, err := taker.TakeKey(t.Context(), s.Key); err != nil {
		t.Fatalf("take a key: %v", err)
	}
	if auth, err := s.Auth(t.Context()); err != nil || auth.State != runtime.AuthFound ||
		!slices.Equal(auth.Credentials, []string{runtime.CredentialLogin}) || auth.Remedy != "" {
		t.Errorf("after it its credentials are %+v (%v)", auth, err)
	}
	if thread == "" {
		thread = s.open()
	}
	done := func(when, turn string) {
		if end := s.End(t, turn); end.Status != runtime.TurnDone {
			t.Fatalf("%s the turn ended %+v", when, end)
		}
	}
	done("with a key", s.say(thread, s.Script.Reply("in")))
	turn := s.held(thread, "login")
	if _, err := taker.TakeKey(t.Context(), s.Key); err != nil && !errors.Is(err, runtime.ErrInvalidState) {
		t.Errorf("a key while a turn runs: %v", err)
	}
	s.Release("login")
	done("with another key in it", turn)
	if s.Kill != nil {
		exits := s.exits()
		s.Kill(t, thread)
		s.wait(t, "the end of the process", func(signal runtime.Signal) bool {
			return signal.Kind == runtime.SignalExited && !slices.Contains(exits, signal.Generation)
		})
		done("of the next process", s.say(thread, s.Script.Reply("in again")))
	}
	if s.Leave == nil {
		return
	}
	s.Leave(t)
	s.Agent = s.Next(t)
	done("of the next server", s.say(s.open(), s.Script.Reply("still in")))
	if auth, err := s.Auth(t.Context()); err != nil || auth.State != runtime.AuthFound {
		t.Errorf("to the next server its credentials are %+v (%v)", auth, err)
	}
}

// await retries until a turn with a published end has released its conversation.
func (s *scene) await(t *testing.T, do func() error) error {
	t.Helper()
	var err error
	polling.Until(Patience, func() bool {
		err = do()
		return !errors.Is(err, runtime.ErrTurnActive)
	})
	return err
}

// offers: the adapter's declarations before its first process are true and complete.
func offers(t *testing.T, s *scene) {
	auth, err := s.Auth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if found := len(auth.Credentials) > 0; found != (auth.State == runtime.AuthFound) ||
		auth.State == runtime.AuthMissing && auth.Remedy == "" {
		t.Errorf("its credentials are %+v", auth)
	}
	models, err := s.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	known, defaults := map[string]bool{}, 0
	for _, model := range models {
		if model.ID == "" || model.Name == "" || known[model.ID] || model.Efforts == nil ||
			model.DefaultEffort != "" && !slices.Contains(model.Efforts, model.DefaultEffort) {
			t.Errorf("a model %+v", model)
		}
		known[model.ID] = true
		if model.Default {
			defaults++
		}
	}
	if defaults > 1 {
		t.Errorf("%d models are the default one", defaults)
	}
}
