package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"harness/internal/runtime"
	"harness/internal/runtime/environment"
)

// Auth implements runtime.Adapter. It finds a key in the environment, a stored login, or the credentials of the cloud
// that the environment selects.
func (r *Runtime) Auth(context.Context) (runtime.AuthStatus, error) {
	if cloud := environment.ChosenProvider(Name, r.launcher.Variable); cloud != nil {
		return cloud.Auth(), nil
	}
	status := runtime.AuthStatus{State: runtime.AuthMissing, Credentials: []string{}}
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"} {
		if r.launcher.Variable(name) != "" {
			status.Credentials = []string{runtime.CredentialAPIKey}
		}
	}
	login := r.launcher.Variable("CLAUDE_CODE_OAUTH_TOKEN") != ""
	if r.setup.SessionHome == nil { // a session's own home has no login
		_, err := os.Stat(filepath.Join(r.configDir(), ".credentials.json"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return status, fmt.Errorf("look for a login of Claude Code: %w", err)
		}
		login = login || err == nil
	}
	if login {
		status.Credentials = append(status.Credentials, runtime.CredentialLogin)
	}
	if len(status.Credentials) > 0 {
		status.State = runtime.AuthFound
		return status, nil
	}
	status.Remedy = remedy
	if r.setup.SessionHome == nil {
		status.Remedy += "; or sign in with POST /api/runtimes/claude/login"
	}
	return status, nil
}

// remedy explains how to log in to Claude Code without a web page.
const remedy = "set ANTHROPIC_API_KEY for the server; or make a token with `claude setup-token` and set CLAUDE_CODE_OAUTH_TOKEN"

// offered are the models that Claude Code offers.
type offered struct {
	mu     sync.Mutex
	models []runtime.Model
}

// learn reads the models in the answer to a handshake.
func (o *offered) learn(greeting json.RawMessage) {
	var said struct {
		Models []struct {
			Value       string   `json:"value"`
			Name        string   `json:"displayName"`
			Description string   `json:"description"`
			Efforts     []string `json:"supportedEffortLevels"`
		} `json:"models"`
	}
	if json.Unmarshal(greeting, &said) != nil || len(said.Models) == 0 {
		return
	}
	models := make([]runtime.Model, 0, len(said.Models))
	for _, m := range said.Models {
		if m.Value == "" || slices.ContainsFunc(models, func(known runtime.Model) bool { return known.ID == m.Value }) {
			continue
		}
		name := m.Name
		if name == "" {
			name = m.Value
		}
		models = append(models, runtime.Model{ID: m.Value, Name: name, Description: m.Description,
			Default: m.Value == "default", Efforts: append([]string{}, m.Efforts...), Images: true})
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.models = models
}

func (o *offered) list() []runtime.Model {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.models)
}

// Models implements runtime.Adapter. Every process reports them in its handshake; without a process, Models starts
// one.
func (r *Runtime) Models(ctx context.Context) ([]runtime.Model, error) {
	if models := r.models.list(); models != nil {
		return models, nil
	}
	if err := r.fetchModels(ctx); err != nil {
		return nil, runtime.WithKind(runtime.ErrUnavailable, fmt.Errorf("ask Claude Code for its models: %w", err))
	}
	return r.models.list(), nil
}

// fetchModels starts a process for its handshake, and ends it.
func (r *Runtime) fetchModels(ctx context.Context) error {
	_, end, err := r.aside(ctx)
	if err != nil {
		return err
	}
	return end(ctx)
}
