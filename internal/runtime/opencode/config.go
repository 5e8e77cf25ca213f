package opencode

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"sort"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/environment"
	"harness/internal/runtime/opencode/bridge"
)

// configVariable is the variable with the operator's providers and models.
const configVariable = "OPENCODE_CONFIG_CONTENT"

// forced returns settings that prevent changes to OpenCode or its permissions without the operator: updates,
// plug-ins, and settings of the folder or of another agent.
func forced() []string {
	return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
		"OPENCODE_DISABLE_PROJECT_CONFIG=1", "OPENCODE_DISABLE_CLAUDE_CODE=1", "OPENCODE_DISABLE_EXTERNAL_SKILLS=1",
		"OPENCODE_PURE=1"}
}

// usual returns defaults that an operator may change: no downloads at the start, no silent compaction, and no
// questions of the agent.
func usual() map[string]string {
	return map[string]string{"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
		"OPENCODE_DISABLE_AUTOCOMPACT": "1", "OPENCODE_FAST_BOOT": "1", "OPENCODE_CLIENT": "app",
		"OPENCODE_ENABLE_QUESTION_TOOL": "1"}
}

// inherits selects the variables of the server's environment that OpenCode gets. The adapter itself sets its
// configuration and its password.
func (o *OpenCode) inherits(name string) bool {
	return name != configVariable && name != "OPENCODE_SERVER_PASSWORD" && o.handedOn(name)
}

func (o *OpenCode) handedOn(name string) bool {
	return o.options.Launch.Inherits == nil || o.options.Launch.Inherits(name)
}

// environment returns OpenCode's variables besides the inherited ones.
func (o *OpenCode) environment() []string {
	env := append(slices.Clone(o.options.Launch.Env), o.options.Home.Env()...)
	for _, name := range slices.Sorted(maps.Keys(usual())) {
		if value := os.Getenv(name); value == "" || !o.handedOn(name) {
			env = append(env, name+"="+usual()[name])
		}
	}
	if config, err := o.config(); err == nil { // otherwise the start reports it
		env = append(env, configVariable+"="+config)
	}
	return append(env, forced()...)
}

// config returns the operator's configuration with the adapter's settings: no updates, no sharing, and no slow
// features or downloads unless requested.
func (o *OpenCode) config() (string, error) {
	config := map[string]any{}
	for name, value := range map[string]bool{"snapshot": false, "lsp": false, "formatter": false} {
		config[name] = value
	}
	if decoded := o.operators(); decoded != "" {
		if err := json.Unmarshal([]byte(decoded), &config); err != nil {
			return "", fmt.Errorf("%s is no JSON object (%w); see https://opencode.ai/docs/config", configVariable, err)
		}
	}
	config["autoupdate"], config["share"] = false, "disabled"
	// Permissions without a rule need approval. The rules of conversations override these.
	permissions := map[string]string{"*": ask}
	for _, tool := range readOnlyTools() {
		permissions[tool] = allow
	}
	config["permission"] = permissions
	raw, err := json.Marshal(config)
	return string(raw), err
}

// operators returns the configuration from the operator.
func (o *OpenCode) operators() string {
	for _, assignment := range slices.Backward(o.options.Launch.Env) {
		if value, is := strings.CutPrefix(assignment, configVariable+"="); is {
			return value
		}
	}
	if !o.handedOn(configVariable) {
		return ""
	}
	return os.Getenv(configVariable)
}

// variable returns a variable of the server's environment that OpenCode gets.
func (o *OpenCode) variable(name string) string {
	switch {
	case name == configVariable:
		return o.operators()
	case !o.inherits(name):
		return ""
	}
	return os.Getenv(name)
}

// Auth implements runtime.Adapter. A provider of the configuration may need no credentials, so missing ones alone prove
// nothing.
func (o *OpenCode) Auth(context.Context) (runtime.AuthStatus, error) {
	status := runtime.AuthStatus{State: runtime.AuthFound, Credentials: []string{}}
	var config struct {
		Provider map[string]struct {
			Options struct {
				APIKey string `json:"apiKey"`
			} `json:"options"`
		} `json:"provider"`
	}
	_ = json.Unmarshal([]byte(o.operators()), &config) // the start reports one that is not JSON
	for _, provider := range config.Provider {
		if provider.Options.APIKey != "" {
			status.Credentials = []string{runtime.CredentialAPIKey}
		}
	}
	login, err := o.homeFile("XDG_DATA_HOME", ".local/share", "auth.json")
	if err != nil {
		return runtime.AuthStatus{}, err
	}
	if info, err := os.Stat(login); err == nil && info.Size() > emptyLogin {
		status.Credentials = append(status.Credentials, runtime.CredentialLogin)
	}
	if cloud := environment.ChosenProvider(Name, o.variable); cloud != nil && len(status.Credentials) == 0 {
		return cloud.Auth(), nil
	}
	if len(status.Credentials) == 0 {
		status.State = runtime.AuthMissing
		if len(config.Provider) > 0 {
			status.State = runtime.AuthUnknown
		}
		status.Remedy = loginRemedy
	}
	return status, nil
}

// loginRemedy is for an OpenCode without a login.
const loginRemedy = "give a provider a key in " + configVariable +
	`, or sign in with it: POST /api/runtimes/opencode/login {"apiKey": "..."}`

// emptyLogin is the largest size of a file without logins, in bytes.
const emptyLogin = 3

// Models implements runtime.Adapter.
func (o *OpenCode) Models(ctx context.Context) ([]runtime.Model, error) {
	l, err := o.use(ctx)
	if err != nil {
		return nil, err
	}
	defer l.done()
	var config struct {
		Model string `json:"model"`
	}
	var list struct {
		Providers []struct {
			ID     string `json:"id"`
			Name   string `json:"name"`
			Models map[string]struct {
				ID           string `json:"id"`
				Name         string `json:"name"`
				Capabilities struct {
					Input struct {
						Image bool `json:"image"`
					} `json:"input"`
				} `json:"capabilities"`
				Variants map[string]json.RawMessage `json:"variants"`
			} `json:"models"`
		} `json:"providers"`
	}
	get := func(path string, out any) error {
		return l.request(ctx, "models", "", bridge.Step{Do: http.MethodGet, Path: path, Directory: o.options.Dir}, out)
	}
	if err := get("/config", &config); err != nil {
		return nil, err
	}
	if err := get("/config/providers", &list); err != nil {
		return nil, err
	}
	models := []runtime.Model{}
	for _, provider := range list.Providers {
		for id, m := range provider.Models {
			model := runtime.Model{ID: provider.ID + "/" + id, Name: m.Name, Description: provider.Name,
				Images: m.Capabilities.Input.Image, Efforts: slices.Sorted(maps.Keys(m.Variants))}
			if model.Efforts == nil {
				model.Efforts = []string{}
			}
			if model.Name == "" {
				model.Name = model.ID
			}
			model.Default = model.ID == config.Model
			models = append(models, model)
		}
	}
	sort.Slice(models, func(i, j int) bool {
		if models[i].Default != models[j].Default {
			return models[i].Default
		}
		return models[i].ID < models[j].ID
	})
	return models, nil
}
