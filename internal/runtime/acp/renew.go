package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/acp/words"
	"harness/internal/runtime/stdio"
)

// An agent that accepts no key while it runs is restarted with the key, once its process is idle.

// renewChecks is the time between checks of a busy process.
const renewChecks = 5 * time.Millisecond

// refuseKey returns the refusal of a key.
func (r *Runtime) refuseKey(kind error, why string) error {
	return &runtime.Error{Runtime: r.profile.Name, Method: words.Login, Kind: kind, Message: why}
}

// takeForProvider accepts the key of one of the providers of the agent's models, by default that of its default
// model.
func (r *Runtime) takeForProvider(ctx context.Context, given runtime.ProviderKey) (runtime.TakenKey, error) {
	models, err := r.Models(ctx)
	if err != nil {
		return runtime.TakenKey{}, err
	}
	var known []string
	for _, model := range models {
		name, _, _ := strings.Cut(model.ID, "/")
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
		if given.Provider == "" && model.Default {
			given.Provider = name
		}
	}
	if !slices.Contains(known, given.Provider) {
		return runtime.TakenKey{}, r.refuseKey(runtime.ErrInvalidParams, fmt.Sprintf(
			"it offers no model of a provider called %q; it offers models of: %s", given.Provider, strings.Join(known, ", ")))
	}
	return runtime.TakenKey{Provider: given.Provider}, r.renew(ctx, given)
}

// renew replaces the process by one that has a key. It returns ErrInvalidState while a turn is running.
func (r *Runtime) renew(ctx context.Context, given runtime.ProviderKey) error {
	ctx, cancel := context.WithTimeout(ctx, r.calls)
	defer cancel()
	polls := time.NewTicker(renewChecks)
	defer polls.Stop()
	for {
		conn, done, err := r.process.Use(ctx)
		if err != nil {
			return err
		}
		done()
		p := protocolOf(conn)
		if p.busy() {
			return r.refuseKey(runtime.ErrInvalidState, "a new key would end the running turn; sign in after it")
		}
		keep := func() bool {
			if p.busy() {
				return true
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.key, r.provider = given.Key, given.Provider // before another process can start
			return false
		}
		if r.process.Retire(conn, r.process.Uses(), time.Now(), keep, r.profile.title()+" is restarted with a key") {
			close(p.retired)
			return nil
		}
		select {
		case <-polls.C: // the sink is storing output, or a call is in progress
		case <-ctx.Done():
			return r.refuseKey(runtime.ErrInvalidState, "it is in use; try again")
		}
	}
}

// busy reports whether a turn is running in a conversation, or is about to start.
func (p *protocol) busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.translator.state.Conversations)+len(p.reserved) > 0
}

// untilRenewed stops attending to a process when one with another key must replace it.
func (r *Runtime) untilRenewed(ctx context.Context, p *protocol, attend func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-p.retired:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := attend(ctx)
	cancel()
	<-over
	select {
	case <-p.retired:
		return &stdio.RetiredError{Exit: "it was ended for one with the key of a login",
			Message: r.profile.title() + " is being restarted with the key of a login"}
	default:
		return err
	}
}

// program returns the settings for the next process: the key of a login.
func (r *Runtime) program() (stdio.Program, error) {
	r.mu.Lock()
	key, provider := r.key, r.provider
	r.keyed = key != "" && r.profile.KeyVariable != ""
	keyed := r.keyed
	r.mu.Unlock()
	if !keyed {
		return stdio.Program{}, nil
	}
	if r.profile.KeyByProvider {
		var err error
		if key, err = r.beside(provider, key); err != nil {
			return stdio.Program{}, err
		}
	}
	return stdio.Program{Env: []string{r.profile.KeyVariable + "=" + key}}, nil
}

// beside returns a key together with the stored ones; the agent would ignore those otherwise.
func (r *Runtime) beside(provider, key string) (string, error) {
	all := map[string]any{}
	for _, login := range r.profile.Logins {
		raw, err := os.ReadFile(os.Expand(login, r.lookup))
		if err == nil && json.Unmarshal(raw, &all) == nil {
			break // an agent uses the first existing one
		}
	}
	all[provider] = map[string]string{"type": "api", "key": key}
	raw, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("word the keys of %s: %w", r.profile.title(), err)
	}
	return string(raw), nil
}
