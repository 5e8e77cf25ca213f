package config

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestPrintRedactsEverySecret(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var canaries []string
	for _, v := range Variables() {
		if v.Secret {
			canary := "canary-" + v.Key() + "-0123456789"
			if v.Name == "HARNESS_WORKSPACE_REMOTE" {
				canary = "/" + canary
			}
			canaries = append(canaries, canary)
			value := map[string]string{"HARNESS_S3_KEY": "id:", "HARNESS_NOTIFY_NTFY_URL": "https://:"}[v.Name] + canary
			if v.Name == "HARNESS_NOTIFY_NTFY_URL" {
				value += "@ntfy.example/topic"
			}
			p.env = append(p.env, v.Name+"="+value)
		}
	}
	p.env = append(p.env, "HARNESS_WORKSPACES=git",
		"DATABASE_URL=postgres://me:canary%2Fdb@db.example:5432/n?sslmode=disable&password=canary-q&sslpassword=canary-s")
	canaries = append(canaries, "canary%2Fdb", "canary/db", "canary-q", "canary-s")
	c := p.mustLoad()
	var out bytes.Buffer
	if err := Print(&out, c); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Contains(text, "canary") {
		t.Errorf("a secret is shown:\n%s", text)
	}
	want := "DATABASE_URL=postgres://me:[redacted]@db.example:5432/n?sslmode=disable&password=[redacted]&sslpassword=[redacted]"
	for _, line := range []string{want, "HARNESS_AUTH_TOKEN=[redacted]", "PORT=3001", "# environment", "# default"} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
	secrets := c.Secrets()
	for _, canary := range canaries {
		if !slices.Contains(secrets, canary) {
			t.Errorf("Secrets() lacks %q: %q", canary, secrets)
		}
	}
}

func TestPrintShowsEveryVariableOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := Print(&out, newPlace(t).mustLoad()); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(out.String(), "\n"), len(Variables()); got != want {
		t.Errorf("%d lines for %d variables", got, want)
	}
	if strings.Contains(out.String(), Redacted) {
		t.Error("an unset secret is shown as if it were set")
	}
}

func TestTableIsConsistent(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, v := range Variables() {
		for kind, id := range map[string]string{"name": v.Name, "flag": "--" + v.Flag()} {
			if id == "--" {
				continue
			}
			if other, dup := seen[id]; dup {
				t.Errorf("%s %s belongs to %s and %s", kind, id, other, v.Name)
			}
			seen[id] = v.Name
		}
		c := new(Config)
		if !v.set(c, v.Default, "/d") {
			t.Errorf("%s: its own default %q is not allowed", v.Name, v.Default)
		}
		if v.Doc == "" || v.Group == "" || strings.Contains(v.Doc, "\n") {
			t.Errorf("%s: needs a group and one line of documentation", v.Name)
		}
	}
}

func TestDocumentationIsCurrent(t *testing.T) {
	t.Parallel()
	var want bytes.Buffer
	if err := WriteDocs(&want); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/configuration.md is not what the table says: run `make docs`")
	}
}

// Every variable that contains a secret is listed, so that a variable added later is also kept from child processes.
func TestSecretNames(t *testing.T) {
	t.Parallel()
	want := []string{"HARNESS_AUTH_TOKEN", "DATABASE_URL", "OPENAI_API_KEY", "AGENT_EXTENSION_RBAC_HEADER_SECRET",
		"AGENT_EXTENSION_RBAC_JWT_SECRET", "HARNESS_ACP_AGENTS", "HARNESS_TOOLS_COMMANDS", "HARNESS_TOOLS_SERVERS",
		"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS",
		"HARNESS_NOTIFY_WEBHOOK_URL", "HARNESS_NOTIFY_NTFY_URL", "HARNESS_WORKSPACE_REMOTE"}
	got := SecretNames()
	for _, v := range Variables() {
		isSecret := strings.HasSuffix(v.Name, "_SECRET") || strings.HasSuffix(v.Name, "_TOKEN") ||
			strings.HasSuffix(v.Name, "_KEY") || strings.HasSuffix(v.Name, "PASSWORD")
		if (isSecret || slices.Contains(want, v.Name)) != slices.Contains(got, v.Name) {
			t.Errorf("%s: named %t", v.Name, slices.Contains(got, v.Name))
		}
	}
}
