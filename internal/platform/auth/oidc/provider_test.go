package oidc_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/platform/auth/oidc"
)

// read makes providers from a file.
func read(t *testing.T, text string) []oidc.Provider {
	t.Helper()
	all, err := tryRead(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const clientSecret = "the-secret-of-the-client"

func tryRead(t *testing.T, text string) ([]oidc.Provider, error) {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{"oidc.json": text, "secret": clientSecret + "\n", "open": "x", "empty": "\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(folder, "open"), 0o644); err != nil { //nolint:gosec // that is what is refused
		t.Fatal(err)
	}
	return oidc.ReadProviders(filepath.Join(folder, "oidc.json"))
}

// A fault in the file is named, with the correct form.
func TestWrongProviders(t *testing.T) {
	t.Parallel()
	const login = `"name": "corp", "issuer": "https://a.example", "clientId": "c"`
	const workload = `"name": "ci", "kind": "workload", "issuer": "https://a.example", "audience": "x", "role": "ci", "claims": {"a": "b"}`
	for text, says := range map[string]string{
		`{}`:              "JSON list",
		`[] []`:           "something follows",
		`[{"nam": "a"}]`:  `unknown field "nam"`,
		`[{"name": "A"}]`: "lower-case",
		`[{"name": "a", "issuer": "http://a.example", "clientId": "c"}]`:               "https URL",
		`[{"name": "a", "issuer": "https://a.example"}]`:                               "clientId",
		`[{` + login + `}, {` + login + `}]`:                                           "same name",
		`[{` + login + `, "kind": "x"}]`:                                               "login or workload",
		`[{` + login + `, "scopes": ["email"]}]`:                                       "openid",
		`[{` + login + `, "defaultRole": "owner"}]`:                                    "defaultRole",
		`[{` + login + `, "role": "admin"}]`:                                           "roleClaim",
		`[{` + login + `, "projects": [""]}]`:                                          "projects",
		`[{` + login + `, "clientSecretFile": "open"}]`:                                "chmod 600",
		`[{` + login + `, "clientSecretFile": "empty"}]`:                               "empty",
		`[{` + login + `, "clientSecretFile": "none"}]`:                                "clientSecretFile",
		`[{` + strings.Replace(workload, `"x"`, `""`, 1) + `}]`:                        "audience",
		`[{` + strings.Replace(workload, `{"a": "b"}`, `{}`, 1) + `}]`:                 "claims",
		`[{` + strings.Replace(workload, `"b"`, `"**"`, 1) + `}]`:                      "every value",
		`[{` + strings.Replace(workload, `"role": "ci"`, `"role": "system"`, 1) + `}]`: "role",
		`[{` + workload + `, "defaultRole": "ci"}]`:                                    "kind login",
	} {
		var wrong *oidc.ConfigError
		if _, err := tryRead(t, text); !errors.As(err, &wrong) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "HARNESS_OIDC_FILE") {
			t.Errorf("%s: %v, want %s", text, err, says)
		}
	}
	if _, err := tryRead(t, `[{`+login+`, "clientSecretFile": "secret"}, {`+workload+`}]`); err != nil {
		t.Error(err)
	}
	if _, err := oidc.ReadProviders("/nowhere/oidc.json"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}
