package opencode

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode/bridge"
)

// TakeKey implements runtime.KeyTaker. OpenCode stores the key in its home. Its open folders keep their earlier keys,
// so TakeKey restarts OpenCode in them. That ends turns, so TakeKey accepts no key while a turn is running.
func (o *OpenCode) TakeKey(ctx context.Context, given runtime.ProviderKey) (runtime.TakenKey, error) {
	l, err := o.use(ctx)
	if err != nil {
		return runtime.TakenKey{}, err
	}
	defer l.done()
	provider, err := o.provider(ctx, l, given.Provider)
	if err != nil {
		return runtime.TakenKey{}, err
	}
	if !o.sending.TryLock() {
		return runtime.TakenKey{}, notNow()
	}
	defer o.sending.Unlock()
	if l.busy() {
		return runtime.TakenKey{}, notNow()
	}
	body := encoded(map[string]string{"type": "api", "key": given.Key})
	err = l.command(ctx, callLogin, "", call{harmless: true, Command: bridge.Command{Steps: []bridge.Step{
		{Do: http.MethodPut, Path: "/auth/" + url.PathEscape(provider), Body: body},
		{Do: http.MethodPost, Path: "/global/dispose"}}}}, nil)
	return runtime.TakenKey{Provider: provider, Stored: true}, err
}

// notNow refuses a key that would end turns.
func notNow() error {
	return refused(runtime.ErrInvalidState, "a new key would end the running turn; sign in after it")
}

func refused(kind error, why string) error {
	return &runtime.Error{Runtime: Name, Method: callLogin, Message: why, Kind: kind}
}

// busy reports whether a turn is running in any conversation.
func (p *protocol) busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.state.Conversations) > 0
}

// provider returns the provider of a key. It must be known to OpenCode; the default is that of the configured model.
func (o *OpenCode) provider(ctx context.Context, l *line, named string) (string, error) {
	if named == "" {
		var config struct {
			Model string `json:"model"`
		}
		step := bridge.Step{Do: http.MethodGet, Path: "/config", Directory: o.options.Dir}
		if err := l.request(ctx, "config", "", step, &config); err != nil {
			return "", err
		}
		if named, _, _ = strings.Cut(config.Model, "/"); named == "" {
			return "", refused(runtime.ErrInvalidParams, "name the provider of the key: no model is configured that says it")
		}
	}
	var known struct {
		All []struct {
			ID string `json:"id"`
		} `json:"all"`
	}
	step := bridge.Step{Do: http.MethodGet, Path: "/provider", Directory: o.options.Dir}
	if err := l.request(ctx, "providers", "", step, &known); err != nil {
		return "", err
	}
	for _, provider := range known.All {
		if provider.ID == named {
			return named, nil
		}
	}
	return "", refused(runtime.ErrInvalidParams,
		fmt.Sprintf("no provider is called %q; there are those of its configuration and of https://models.dev", named))
}
