package manager

import (
	"context"
	"errors"
	"testing"
	"time"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// A session that is not stored is unknown immediately, whatever an unavailable runtime does; the error names that
// runtime.
func TestAnUnknownSessionWaitsForNoRuntime(t *testing.T) {
	eachPair(t, func(t *testing.T, p pair) {
		defer p.other.freeze()()
		for name, test := range map[string]struct {
			edit   func(f *fake)
			reason string
		}{
			"down":    {func(f *fake) { f.down = true }, "it is unavailable"},
			"booting": {func(f *fake) { f.status = runtime.Status{State: runtime.StateStarting, Reason: "it boots"} }, "it boots"},
			"suspended": {func(f *fake) { f.status = runtime.Status{State: runtime.StateReady, PID: 7, Suspended: true} },
				"its process is suspended; continue it with: kill -CONT 7"},
			"unresponsive": {func(f *fake) { f.status.State = runtime.StateUnresponsive }, "it is unresponsive"},
		} {
			p.other.mu.Lock()
			p.other.down, p.other.status = false, runtime.Status{}
			test.edit(p.other)
			p.other.mu.Unlock()
			begun := time.Now()
			_, err := p.Lookup(t.Context(), ids.New())
			var unknown *session.UnknownError
			if took := time.Since(begun); !errors.Is(err, session.ErrNotFound) || !errors.As(err, &unknown) || took >= lookupPatience {
				t.Fatalf("%s: %v after %s", name, err, took)
			}
			if len(unknown.NotAsked) != 1 || unknown.NotAsked[0].Runtime != "other" || unknown.NotAsked[0].Reason != test.reason {
				t.Errorf("%s: not asked were %+v", name, unknown.NotAsked)
			}
			elsewhere := ids.New() // codex knows it, and it is not stored here
			p.fake.mu.Lock()
			p.fake.threads = append(p.fake.threads, runtime.Thread{ID: elsewhere, Cwd: "/there"})
			p.fake.mu.Unlock()
			if found, err := p.Lookup(t.Context(), elsewhere); err != nil || found.Runtime != "codex" {
				t.Errorf("%s: a session that codex knows is %+v, %v", name, found, err)
			}
		}
	})
}

// The error also names a ready runtime that does not answer within a limited time, unless the caller canceled.
func TestASilentRuntimeIsNamed(t *testing.T) {
	eachPair(t, func(t *testing.T, p pair) {
		defer p.other.freeze()()
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := p.Lookup(gone, ids.New()); err == nil || errors.Is(err, session.ErrNotFound) {
			t.Errorf("for a caller who left: %v", err)
		}
		_, err := p.Lookup(t.Context(), ids.New())
		var unknown *session.UnknownError
		if !errors.As(err, &unknown) || len(unknown.NotAsked) != 1 || unknown.NotAsked[0].Runtime != "other" {
			t.Errorf("got %v", err)
		}
	})
}

// An operation on a conversation that is not stored here reaches the runtime only while the runtime is ready.
func TestAnUnknownConversationOfARuntimeThatIsDown(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.fake.exited()
		if err := k.SteerTurn(t.Context(), ids.New(), "turn", "text"); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("got %v", err)
		}
	})
}
