package scripted_test

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"harness/tests/runtimetest"
	"harness/tests/runtimetest/scripted"
)

func TestMain(m *testing.M) {
	if !scripted.Play() {
		goleak.VerifyTestMain(m)
	}
}

// An agent unlike codex keeps the promises of every adapter, with and without a shim.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, shims := range map[string]bool{"behind shims": true, "as children": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runtimetest.Run(t, target(shims))
		})
	}
}

func target(shims bool) runtimetest.Target {
	start := func(t *testing.T, store *runtimetest.Store, change func(*scripted.Options)) *runtimetest.Agent {
		site := scripted.Site{Dir: t.TempDir()}
		options := site.Options(t)
		options.Sink, options.Resume = store.Sink, store.Resume
		if shims {
			scripted.Shims(t, &options)
		}
		change(&options)
		return newAgent(t, options, site)
	}
	return runtimetest.Target{
		Script: scripted.Script(),
		New: func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			return start(t, store, func(*scripted.Options) {})
		},
		Proxied: func(t *testing.T, store *runtimetest.Store, proxy *runtimetest.Proxy) *runtimetest.Agent {
			return start(t, store, func(o *scripted.Options) { o.Bin = proxy.Program(t, o.Bin) })
		},
		LoggedOut: func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			return start(t, store, func(o *scripted.Options) { o.Env = o.Env[:1] })
		},
		Hanging: func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			return start(t, store, func(o *scripted.Options) {
				o.Env, o.StartTimeout = scripted.Site{Dir: scripted.Hanging}.Options(t).Env, 200*time.Millisecond
			})
		},
		Missing: func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			return start(t, store, func(o *scripted.Options) { o.Bin = filepath.Join(t.TempDir(), "agent") })
		},
	}
}

func newAgent(t *testing.T, options scripted.Options, site scripted.Site) *runtimetest.Agent {
	r, end := scripted.Begin(t, options)
	agent := &runtimetest.Agent{
		Adapter: r, Dir: site.Dir, AwaitHeld: site.AwaitHeld,
		Release: func(name string) {
			if err := site.Release(name); err != nil {
				t.Error(err)
			}
		},
		Kill: func(t *testing.T, threadID string) {
			for _, one := range r.Status().Processes {
				if one.Serves == threadID {
					if err := syscall.Kill(one.PID, syscall.SIGKILL); err != nil {
						t.Fatal(err)
					}
				}
			}
		},
	}
	if options.Shims != nil {
		agent.Leave = end
		agent.Next = func(t *testing.T) *runtimetest.Agent { return newAgent(t, options, site) }
	}
	return agent
}
