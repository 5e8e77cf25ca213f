package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/acp/words"
)

var _ interface {
	runtime.KeyTaker
	runtime.OperationFilter
} = (*Runtime)(nil)

// takesKeys reports whether the agent accepts a key.
func (p *Profile) takesKeys() bool { return p.KeyMethod != "" || p.KeyVariable != "" }

// remedy explains how to log the agent in.
func (p *Profile) remedy() string {
	if !p.takesKeys() {
		return p.Login
	}
	return strings.TrimPrefix(p.Login+fmt.Sprintf(`; or sign in with a key: POST /api/runtimes/%s/login {"apiKey": "..."}`,
		p.Name), "; ")
}

// Offers implements runtime.OperationFilter.
func (r *Runtime) Offers(operation string) bool {
	switch operation {
	case runtime.OpKey:
		return r.profile.takesKeys()
	case runtime.OpMove:
		return r.profile.History != ""
	}
	return true
}

// TakeKey implements runtime.KeyTaker. A key that the agent does not store stays in memory for later processes.
func (r *Runtime) TakeKey(ctx context.Context, given runtime.ProviderKey) (runtime.TakenKey, error) {
	if r.profile.KeyByProvider {
		return r.takeForProvider(ctx, given)
	}
	if given.Provider != "" {
		return runtime.TakenKey{}, r.refuseKey(runtime.ErrInvalidParams,
			"it takes the key of one provider only; leave provider out")
	}
	if r.profile.KeyVariable != "" {
		return runtime.TakenKey{}, r.renew(ctx, given)
	}
	conn, done, err := r.process.Use(ctx)
	if err != nil {
		return runtime.TakenKey{}, err
	}
	defer done()
	if err := protocolOf(conn).logIn(ctx, given.Key); err != nil {
		return runtime.TakenKey{}, err
	}
	if r.profile.StoresKey {
		return runtime.TakenKey{Stored: true}, nil
	}
	r.mu.Lock()
	r.key = given.Key
	r.mu.Unlock()
	return runtime.TakenKey{}, nil
}

// storedKey returns the key for a new process, "" for none.
func (r *Runtime) storedKey() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.key
}

// startedWithKey reports whether the last process started with a key.
func (r *Runtime) startedWithKey() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keyed
}

// loggedIn reports whether this server or the running process has a key.
func (r *Runtime) loggedIn() bool {
	if r.storedKey() != "" {
		return true
	}
	p := protocolOf(r.process.Current())
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loggedIn
}

// logIn sends a key to the process.
func (p *protocol) logIn(ctx context.Context, key string) error {
	profile := &p.runtime.profile
	var value any = key
	if profile.KeyMember != "" {
		value = map[string]string{profile.KeyMember: key}
	}
	if _, err := p.Call(ctx, p.runtime.calls, words.Login, map[string]any{"methodId": profile.KeyMethod,
		"_meta": map[string]any{"api-key": value}}); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !profile.StoresKey {
		p.loggedIn = true
	}
	if p.greeting == nil {
		p.Note(p.note(p.greeted()))
	}
	return nil
}

// logInAgain sends the key from memory to a new process, before any caller uses the process.
func (p *protocol) logInAgain(ctx context.Context) error {
	p.mu.Lock()
	waits := p.greeting != nil
	p.mu.Unlock()
	if !waits {
		return nil
	}
	var refused *runtime.Error
	if err := p.logIn(ctx, p.runtime.storedKey()); errors.As(err, &refused) {
		// The message may contain the key, so the log omits it. The caller that needs the login gets the error.
		p.runtime.log.Warn().Msg(p.runtime.profile.title() + " rejects the key of its sign-in; sign in again")
	} else if err != nil {
		return err
	}
	p.mu.Lock()
	greeted := p.note(p.greeting)
	p.greeting = nil
	p.mu.Unlock()
	p.Started(greeted)
	return nil
}
