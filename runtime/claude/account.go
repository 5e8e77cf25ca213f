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

	"github.com/google/uuid"

	"harness/runtime"
)

// Auth implements runtime.Adapter: it looks for a key in the environment and for what a login has left.
func (r *Runtime) Auth(context.Context) (runtime.AuthStatus, error) {
	status := runtime.AuthStatus{State: runtime.AuthMissing, Credentials: []string{}}
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"} {
		if r.launcher.Variable(name) != "" {
			status.Credentials = []string{runtime.CredentialAPIKey}
		}
	}
	login := r.launcher.Variable("CLAUDE_CODE_OAUTH_TOKEN") != ""
	if r.setup.SessionHome == nil { // nobody logs in to a home of a session's own
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
	status.Remedy = "set ANTHROPIC_API_KEY for the server; or make a token with `claude setup-token` and set CLAUDE_CODE_OAUTH_TOKEN"
	return status, nil
}

// offered are the models Claude Code said it offers.
type offered struct {
	mu     sync.Mutex
	models []runtime.Model
}

// learn takes the models out of the answer to a greeting.
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

// Models implements runtime.Adapter. Every process tells them when it is greeted; without one, one is greeted for that.
func (r *Runtime) Models(ctx context.Context) ([]runtime.Model, error) {
	if models := r.models.list(); models != nil {
		return models, nil
	}
	if err := r.askModels(ctx); err != nil {
		return nil, fmt.Errorf("%w: ask Claude Code for its models: %w", runtime.ErrUnavailable, err)
	}
	return r.models.list(), nil
}

// askModels greets a process of its own, in an empty folder, and ends it.
func (r *Runtime) askModels(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "harness-models-")
	if err != nil {
		return fmt.Errorf("make an empty folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a folder of the temporary ones
	t := &talk{native: uuid.NewString()}
	p := r.newProcess(t, hello{Native: t.native, Controls: controls{Cwd: dir}.strict()}, state{}, nil)
	_ = p.Start(ctx) // it has no failures of its own
	_, used, err := p.Use(ctx)
	if err == nil {
		used()
	}
	err = errors.Join(err, p.Stop(context.WithoutCancel(ctx)))
	if r.setup.ForgetHome != nil {
		err = errors.Join(err, r.setup.ForgetHome(t.native))
	}
	return err
}
