package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// realCodex returns the cached default codex, and creates a home in dir that connects it to the model at modelURL.
func realCodex(dir, modelURL string) (binary, home string, err error) {
	root, err := repository()
	if err != nil {
		return "", "", err
	}
	pinned, err := os.ReadFile(filepath.Join(root, "scripts", "agents.versions"))
	if err != nil {
		return "", "", err
	}
	var version, entry string
	for line := range strings.Lines(string(pinned)) {
		if fields := strings.Fields(line); len(fields) == 4 && fields[0] == "codex" {
			version, entry = fields[1], fields[3]
		}
	}
	cache := cmp.Or(os.Getenv("HARNESS_CACHE"), filepath.Join(root, ".cache"))
	installed, err := filepath.Glob(filepath.Join(cache, "codex", version, entry))
	if err != nil || len(installed) != 1 {
		return "", "", fmt.Errorf("codex %s is not in the cache (%s); install it with: %s codex", version, cache,
			filepath.Join(root, "scripts", "agents.sh"))
	}
	catalog, err := os.ReadFile(filepath.Join(root, "internal", "codextest", "catalog.json"))
	if err != nil {
		return "", "", err
	}
	home = filepath.Join(dir, "codex-home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return "", "", err
	}
	config := strings.Join([]string{
		`model = "mock-model"`, `model_provider = "mock"`, `approval_policy = "never"`, `sandbox_mode = "danger-full-access"`,
		"check_for_update_on_startup = false", "model_catalog_json = " + strconv.Quote(filepath.Join(home, "catalog.json")),
		"", "[model_providers.mock]", `name = "Mock"`, "base_url = " + strconv.Quote(modelURL), `wire_api = "responses"`,
		"requires_openai_auth = false", "supports_websockets = false", "",
	}, "\n")
	for name, content := range map[string][]byte{"catalog.json": catalog, "config.toml": []byte(config)} {
		if err := os.WriteFile(filepath.Join(home, name), content, 0o600); err != nil {
			return "", "", err
		}
	}
	return installed[0], home, nil
}
