package environment_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/environment"
)

// clouds returns an environment with variables of every cloud.
func clouds(more ...string) []string {
	return append([]string{"PATH=/bin", "AWS_REGION=r", "AWS_PROFILE=p", "AWS_ACCESS_KEY_ID=i", "AWS_SECRET_ACCESS_KEY=s",
		"AWS_SESSION_TOKEN=t", "AWS_BEARER_TOKEN_BEDROCK=b", "AWS_LAMBDA_SECRET=x", "CLOUD_ML_REGION=m",
		"GOOGLE_APPLICATION_CREDENTIALS=f", "GOOGLE_CLOUD_PROJECT=p", "GOOGLE_CLOUD_LOCATION=l", "AZURE_API_KEY=k",
		"AZURE_OPENAI_API_KEY=k", "AZURE_RESOURCE_NAME=n", "AZURE_TENANT_ID=t"}, more...)
}

func lookupIn(environ []string) func(string) string {
	return func(name string) string {
		for _, assignment := range environ {
			if value, is := strings.CutPrefix(assignment, name+"="); is {
				return value
			}
		}
		return ""
	}
}

// A runtime gets the variables of its chosen cloud, and none of the others.
func TestARuntimeGetsWhatItsCloudNeeds(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte("model_provider = \"azure\"\n[model_providers.azure]\n"+
		"env_key = \"AZURE_OPENAI_API_KEY\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const aws = "AWS_REGION AWS_PROFILE AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_BEARER_TOKEN_BEDROCK"
	const google = "CLOUD_ML_REGION GOOGLE_APPLICATION_CREDENTIALS GOOGLE_CLOUD_PROJECT GOOGLE_CLOUD_LOCATION"
	const azure = "AZURE_API_KEY AZURE_OPENAI_API_KEY AZURE_RESOURCE_NAME AZURE_TENANT_ID"
	for name, one := range map[string]struct{ runtime, family, chosen, gets string }{
		"claude":                 {"claude", "", "", "AWS_BEARER_TOKEN_BEDROCK"},
		"claude off":             {"claude", "", "CLAUDE_CODE_USE_BEDROCK=0", "AWS_BEARER_TOKEN_BEDROCK"},
		"claude with bedrock":    {"claude", "", "CLAUDE_CODE_USE_BEDROCK=1", aws},
		"claude with vertex":     {"claude", "", "CLAUDE_CODE_USE_VERTEX=true", google + " AWS_BEARER_TOKEN_BEDROCK"},
		"claude with foundry":    {"claude", "", "CLAUDE_CODE_USE_FOUNDRY=1", azure + " AWS_BEARER_TOKEN_BEDROCK"},
		"its bridge":             {"claude-acp", "claude", "CLAUDE_CODE_USE_BEDROCK=1", aws},
		"gemini":                 {"gemini", "", "", ""},
		"gemini with vertex":     {"gemini", "", "GOOGLE_GENAI_USE_VERTEXAI=true", google},
		"opencode":               {"opencode", "", `OPENCODE_CONFIG_CONTENT={"model":"mock/m"}`, ""},
		"opencode with bedrock":  {"opencode", "", `OPENCODE_CONFIG_CONTENT={"model":"amazon-bedrock/m"}`, aws},
		"opencode with vertex":   {"opencode", "", `OPENCODE_CONFIG_CONTENT={"model":"google-vertex/m"}`, google},
		"opencode with azure":    {"opencode-acp", "opencode", `OPENCODE_CONFIG_CONTENT={"model":"azure/m"}`, azure},
		"codex with azure":       {"codex", "", "CODEX_HOME=" + home, azure},
		"another with its words": {"acp:own", "", "CLAUDE_CODE_USE_BEDROCK=1", ""},
	} {
		environ := clouds(one.chosen)
		policy := environment.Policy{Mode: environment.ModeClosed, Lookup: lookupIn(environ)}
		inherits := policy.Inherits(one.runtime, strings.Fields(one.family)...)
		for _, assignment := range clouds() {
			variable, _, _ := strings.Cut(assignment, "=")
			if want := variable == "PATH" || slices.Contains(strings.Fields(one.gets), variable); inherits(variable) != want {
				t.Errorf("%s: it gets %s: %t", name, variable, !want)
			}
		}
	}
}

// The status of a cloud: whether it is chosen, what is missing, what is held back and why. It has no values.
func TestStatusOfProviders(t *testing.T) {
	t.Parallel()
	of := func(name, provider string, environ ...string) environment.ProviderStatus {
		t.Helper()
		for _, one := range (environment.Policy{Secrets: []string{"AWS_SECRET_ACCESS_KEY"}}).ProvidersOf(environ, name) {
			if one.Name == provider {
				return one
			}
		}
		t.Fatalf("%s has no provider %s", name, provider)
		return environment.ProviderStatus{}
	}
	held := func(s environment.ProviderStatus, variable, reason string) {
		t.Helper()
		if !slices.ContainsFunc(s.HeldBack, func(h environment.HeldBack) bool {
			return h.Name == variable && strings.Contains(h.Reason, reason)
		}) {
			t.Errorf("%s is not held back as %q in %+v", variable, reason, s.HeldBack)
		}
	}
	idle := of("claude", "bedrock", clouds()...)
	held(idle, "AWS_REGION", "Amazon Bedrock is not chosen; it is with CLAUDE_CODE_USE_BEDROCK=true")
	chosen := of("claude", "bedrock", clouds("CLAUDE_CODE_USE_BEDROCK=1")...)
	held(chosen, "AWS_LAMBDA_SECRET", "HARNESS_RUNTIME_ENV_ALLOW=claude:AWS_LAMBDA_SECRET passes it")
	held(chosen, "AWS_SECRET_ACCESS_KEY", "a secret of this server")
	if idle.Chosen || !chosen.Chosen || len(chosen.Missing) > 0 || !slices.Contains(chosen.Passed, "AWS_PROFILE") {
		t.Errorf("it is %+v, and when it is chosen %+v", idle, chosen)
	}
	bare := of("gemini", "vertex", "GOOGLE_GENAI_USE_VERTEXAI=true")
	if !slices.Equal(bare.Missing, []string{"a project", "a location", "credentials of Google Cloud"}) ||
		!strings.Contains(bare.Remedy, "for a project one of GOOGLE_CLOUD_PROJECT") {
		t.Errorf("without anything it is %+v", bare)
	}
}

// Credentials of a cloud are found, missing with a remedy, or unknown if the machine may have them.
func TestAuthOfProviders(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		family, environ string
		state           runtime.AuthState
		remedy          string
	}{
		{"claude", "CLAUDE_CODE_USE_BEDROCK=1 AWS_REGION=r AWS_BEARER_TOKEN_BEDROCK=b", runtime.AuthFound, ""},
		{"claude", "CLAUDE_CODE_USE_BEDROCK=1 AWS_PROFILE=p", runtime.AuthFound, ""},
		{"claude", "CLAUDE_CODE_USE_BEDROCK=1 AWS_ACCESS_KEY_ID=i AWS_SECRET_ACCESS_KEY=s", runtime.AuthMissing, "AWS_REGION"},
		{"claude", "CLAUDE_CODE_USE_BEDROCK=1 AWS_REGION=r AWS_ACCESS_KEY_ID=i", runtime.AuthUnknown, "AWS_SECRET_ACCESS_KEY"},
		{"claude", "CLAUDE_CODE_USE_VERTEX=1 GOOGLE_APPLICATION_CREDENTIALS=f", runtime.AuthMissing, "CLOUD_ML_REGION"},
		{"claude", "CLAUDE_CODE_USE_FOUNDRY=1", runtime.AuthMissing, "ANTHROPIC_FOUNDRY_RESOURCE"},
		{"gemini", "GOOGLE_GENAI_USE_VERTEXAI=true GOOGLE_CLOUD_PROJECT=p GOOGLE_CLOUD_LOCATION=l", runtime.AuthUnknown,
			"GOOGLE_APPLICATION_CREDENTIALS"},
		{"gemini", "GOOGLE_GENAI_USE_VERTEXAI=true GOOGLE_API_KEY=k", runtime.AuthFound, ""},
		{"opencode", "OPENCODE_CONFIG_CONTENT={\"model\":\"azure/m\"} AZURE_RESOURCE_NAME=n", runtime.AuthMissing, "AZURE_API_KEY"},
	} {
		cloud := environment.ChosenProvider(one.family, lookupIn(strings.Fields(one.environ)))
		if cloud == nil {
			t.Errorf("%s chooses nothing", one.environ)
		} else if auth := cloud.Auth(); auth.State != one.state || !strings.Contains(auth.Remedy, one.remedy) ||
			(auth.Remedy == "") != (one.state == runtime.AuthFound) {
			t.Errorf("%s: %+v", one.environ, auth)
		}
	}
	if cloud := environment.ChosenProvider("claude", lookupIn(clouds())); cloud != nil {
		t.Errorf("nothing is chosen, and it is %+v", cloud)
	}
}
