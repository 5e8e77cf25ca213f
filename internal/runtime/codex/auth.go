package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"harness/internal/runtime"
	"harness/internal/runtime/environment"
)

// keyVariable is the variable with the key for codex's own model provider.
const keyVariable = "OPENAI_API_KEY"

// remedy is for a codex without a login.
const remedy = "set " + keyVariable + ", or sign in as the server's user with: harness login"

const installCommand = "npm install -g @openai/codex"

// logIn logs codex in with the key of its environment if its model requires a login and there is none: codex never
// uses the variable alone. codex stores the key in its home, as `codex login` does. Without a key the log has the
// remedy.
func (c *conn) logIn(ctx context.Context) error {
	key := c.codex.launcher.Variable(keyVariable)
	if key == "" && HasAuthFile(c.codex.options.Home) {
		return nil
	}
	answer, err := c.Call(ctx, c.codex.callTimeout, "account/read", object{})
	if err != nil {
		return err
	}
	var now struct {
		Account       json.RawMessage `json:"account"`
		LoginRequired bool            `json:"requiresOpenaiAuth"`
	}
	if err := json.Unmarshal(answer, &now); err != nil {
		return fmt.Errorf("read whether codex is logged in: %w", err)
	}
	if !now.LoginRequired || len(now.Account) > 0 && string(now.Account) != "null" {
		return nil
	}
	if key == "" {
		c.codex.log.Warn().Msg("codex is not signed in, so its turns will fail: " + remedy)
		return nil
	}
	if _, err = c.Call(ctx, c.codex.callTimeout, "account/login/start", object{"type": "apiKey", "apiKey": key}); err != nil {
		return err
	}
	c.codex.log.Info().Msg("codex is signed in with " + keyVariable)
	return nil
}

// Auth implements runtime.Adapter. A provider in codex's config.toml may need no credentials.
func (c *Codex) Auth(context.Context) (runtime.AuthStatus, error) {
	status := runtime.AuthStatus{State: runtime.AuthFound, Credentials: []string{}}
	if c.launcher.Variable(keyVariable) != "" {
		status.Credentials = append(status.Credentials, runtime.CredentialAPIKey)
	}
	if HasAuthFile(c.options.Home) {
		status.Credentials = append(status.Credentials, runtime.CredentialLogin)
	}
	if len(status.Credentials) > 0 {
		return status, nil
	}
	if cloud := environment.ChosenProvider(Name, c.variable); cloud != nil {
		return cloud.Auth(), nil
	}
	status.State, status.Remedy = runtime.AuthMissing, remedy
	return status, nil
}

// variable returns a variable of codex's environment, with its actual home.
func (c *Codex) variable(name string) string {
	if name == "CODEX_HOME" && c.options.Home != "" {
		return c.options.Home
	}
	return c.launcher.Variable(name)
}

// listedModel is a model in codex's list.
type listedModel struct {
	ID, Model, DisplayName, Description string
	IsDefault, Hidden                   bool
	DefaultReasoningEffort              string
	SupportedReasoningEfforts           []struct{ ReasoningEffort string }
	InputModalities                     []string
}

// Models implements runtime.Adapter.
func (c *Codex) Models(ctx context.Context) ([]runtime.Model, error) {
	models := []runtime.Model{}
	for m, err := range pages[listedModel](ctx, c.call, "model/list", object{}) {
		if err != nil {
			return nil, err
		}
		if m.Hidden {
			continue
		}
		model := runtime.Model{ID: cmp.Or(m.Model, m.ID), Name: cmp.Or(m.DisplayName, m.Model, m.ID),
			Description: m.Description, Default: m.IsDefault,
			Efforts: []string{}, DefaultEffort: m.DefaultReasoningEffort,
			// Versions before 0.169 do not report it; their models accept images.
			Images: m.InputModalities == nil || slices.Contains(m.InputModalities, "image")}
		for _, effort := range m.SupportedReasoningEfforts {
			model.Efforts = append(model.Efforts, effort.ReasoningEffort)
		}
		models = append(models, model)
	}
	return models, nil
}

// HasAuthFile reports whether codex would find a stored login. home is CODEX_HOME, "" for codex's default.
func HasAuthFile(home string) bool {
	home, err := homeOf(home)
	if err != nil {
		return false
	}
	info, err := os.Stat(filepath.Join(home, "auth.json"))
	return err == nil && info.Size() > 0
}

// homeOf returns the folder of CODEX_HOME, "" for codex's default.
func homeOf(home string) (string, error) {
	if home == "" {
		home = os.Getenv("CODEX_HOME")
	}
	if home != "" {
		return home, nil
	}
	user, err := os.UserHomeDir()
	return filepath.Join(user, ".codex"), err
}

// Tested returns the versions of codex that this server was tested with, oldest first.
func Tested() []string { return []string{"0.101.0", "0.171.0"} }

// Install implements runtime.Installer.
func (c *Codex) Install() runtime.Install {
	return runtime.Install{From: oldest.String(), Tested: Tested(), Command: installCommand,
		Setting: "CODEX_BIN",
		Page:    "https://github.com/openai/codex"}
}

// Login implements runtime.Authenticator. A user enters a code on a page of the provider, on any machine. It returns
// *runtime.UnsupportedError for versions without such a login.
func (c *Codex) Login(ctx context.Context) (runtime.Login, error) {
	result, err := c.Call(ctx, "account/login/start", object{"type": "chatgptDeviceCode"})
	if errors.Is(err, runtime.ErrInvalidParams) || unknownMethod(err) {
		return runtime.Login{}, &runtime.UnsupportedError{Runtime: Name, Operation: runtime.OpLogin}
	}
	if err != nil {
		return runtime.Login{}, err
	}
	return loginOf(result)
}

func loginOf(result json.RawMessage) (runtime.Login, error) {
	var begun struct {
		LoginID         string `json:"loginId"`
		VerificationURL string `json:"verificationUrl"`
		UserCode        string `json:"userCode"`
	}
	if err := json.Unmarshal(result, &begun); err != nil {
		return runtime.Login{}, fmt.Errorf("read codex's answer to a login: %w", err)
	}
	if begun.VerificationURL == "" || begun.UserCode == "" {
		return runtime.Login{},
			errors.New("codex started a sign-in without a page and a code; sign in with: harness login -- --device-auth")
	}
	return runtime.Login{ID: begun.LoginID, URL: begun.VerificationURL, Code: begun.UserCode}, nil
}
