package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// realCodex is the cached codex the product is built for, and a home in dir that has it talk to a model at an address.
func realCodex(dir, modelURL string) (binary, home string, err error) {
	root, err := repository()
	if err != nil {
		return "", "", err
	}
	pinned, err := os.ReadFile(filepath.Join(root, "scripts", "codex.versions"))
	if err != nil {
		return "", "", err
	}
	number := ""
	for line := range strings.Lines(string(pinned)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "default" {
			number = fields[1]
		}
	}
	cache := os.Getenv("HARNESS_CACHE")
	if cache == "" {
		cache = filepath.Join(root, ".cache")
	}
	installed := filepath.Join(cache, "codex", number)
	path, err := os.ReadFile(filepath.Join(installed, "path"))
	if err != nil {
		return "", "", fmt.Errorf("codex %s is not in the cache: %w; install it with: %s %s", number, err, filepath.Join(root, "scripts", "codex.sh"), number)
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
	return filepath.Join(installed, strings.TrimSpace(string(path))), home, nil
}
