package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"harness/runtime"
)

// keyVariable is where codex's own model provider looks for a key.
const keyVariable = "OPENAI_API_KEY"

// Auth implements runtime.Adapter. A provider of codex's config.toml may need neither.
func (c *Codex) Auth(context.Context) (runtime.AuthStatus, error) {
	status := runtime.AuthStatus{State: runtime.AuthFound, Credentials: []string{}}
	if c.launcher.Variable(keyVariable) != "" {
		status.Credentials = append(status.Credentials, runtime.CredentialAPIKey)
	}
	if HasAuthFile(c.options.Home) {
		status.Credentials = append(status.Credentials, runtime.CredentialLogin)
	}
	if len(status.Credentials) == 0 {
		status.State = runtime.AuthMissing
		status.Remedy = "set " + keyVariable + ", or log in as the server's user with: codex login"
	}
	return status, nil
}

// Models implements runtime.Adapter.
func (c *Codex) Models(ctx context.Context) ([]runtime.Model, error) {
	models := []runtime.Model{}
	for cursor := ""; ; {
		result, err := c.call(ctx, "model/list", object{}.with("cursor", cursor))
		if err != nil {
			return nil, err
		}
		var page struct {
			Data []struct {
				ID, Model, DisplayName, Description string
				IsDefault, Hidden                   bool
				DefaultReasoningEffort              string
				SupportedReasoningEfforts           []struct{ ReasoningEffort string }
				InputModalities                     []string
			}
			NextCursor string
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return nil, fmt.Errorf("read codex's list of models: %w", err)
		}
		for _, m := range page.Data {
			if m.Hidden {
				continue
			}
			model := runtime.Model{ID: firstOf(m.Model, m.ID), Name: firstOf(m.DisplayName, m.Model, m.ID),
				Description: m.Description, Default: m.IsDefault,
				Efforts: []string{}, DefaultEffort: m.DefaultReasoningEffort,
				// Versions before 0.169 do not say; their models take them.
				Images: m.InputModalities == nil || slices.Contains(m.InputModalities, "image")}
			for _, effort := range m.SupportedReasoningEfforts {
				model.Efforts = append(model.Efforts, effort.ReasoningEffort)
			}
			models = append(models, model)
		}
		if cursor = page.NextCursor; cursor == "" {
			return models, nil
		}
	}
}

// HasAuthFile tells whether codex would find a stored login. home is CODEX_HOME, "" for codex's own default.
func HasAuthFile(home string) bool {
	if home == "" {
		home = os.Getenv("CODEX_HOME")
	}
	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return false
		}
		home = filepath.Join(user, ".codex")
	}
	info, err := os.Stat(filepath.Join(home, "auth.json"))
	return err == nil && info.Size() > 0
}
