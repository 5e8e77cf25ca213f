package environment

import (
	"os"
	"slices"
	"strings"
)

// Provider describes a cloud that serves a runtime's models.
type Provider struct {
	// Name is its name in the API, Title its display name, Family its runtime (or the provider of a bridge).
	Name, Title, Family string
	// Switch is the variable that chooses it, with any value but "", 0 and false. Config is a variable, or a file
	// named by variables. Says is its content when the runtime's configuration chooses it.
	Switch       string
	Config, Says string
	// Passes are the server's variables it needs, as in Policy.Allow.
	Passes []string
	// Needs are its requirements.
	Needs []Need
}

// Need is a requirement of a provider.
type Need struct {
	// What is its display name.
	What string `json:"what"`
	// AnyOf are the ways to provide it: variables joined by "+", or a file below $HOME.
	AnyOf []string `json:"anyOf"`
	// Ambient means that the machine may provide it (the role of an instance). The server cannot check that.
	Ambient bool `json:"ambient,omitempty"`
}

func awsVariables() []string {
	return []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_ACCESS_KEY_ID",
		"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE",
		"AWS_SDK_LOAD_CONFIG", "AWS_CA_BUNDLE", "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_*", "AWS_EC2_METADATA_*", "AWS_ENDPOINT_URL*", "AWS_STS_REGIONAL_ENDPOINTS"}
}

func googleVariables() []string {
	return []string{"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_QUOTA_PROJECT",
		"GCLOUD_PROJECT", "CLOUD_ML_REGION", "VERTEX_REGION_*", "CLOUDSDK_CONFIG", "GOOGLE_VERTEX_*", "VERTEX_LOCATION"}
}

func azureVariables() []string { return []string{"AZURE_*"} }

func awsNeeds(skip ...string) []Need {
	return []Need{
		{What: "a region", AnyOf: []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "$HOME/.aws/config"}},
		{What: "credentials of AWS", Ambient: true, AnyOf: append([]string{"AWS_BEARER_TOKEN_BEDROCK",
			"AWS_ACCESS_KEY_ID+AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_ROLE_ARN+AWS_WEB_IDENTITY_TOKEN_FILE",
			"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "$HOME/.aws/credentials"}, skip...)},
	}
}

func googleCredentials(more ...string) Need {
	return Need{What: "credentials of Google Cloud", Ambient: true, AnyOf: append([]string{"GOOGLE_APPLICATION_CREDENTIALS",
		"$HOME/.config/gcloud/application_default_credentials.json"}, more...)}
}

// Providers returns the known providers, by family and name.
func Providers() []Provider {
	const openCode, codexConfig = "OPENCODE_CONFIG_CONTENT", "$CODEX_HOME/config.toml"
	return []Provider{
		{Name: "bedrock", Title: "Amazon Bedrock", Family: "claude", Switch: "CLAUDE_CODE_USE_BEDROCK", Passes: awsVariables(),
			Needs: awsNeeds("CLAUDE_CODE_SKIP_BEDROCK_AUTH")},
		{Name: "vertex", Title: "Google Vertex AI", Family: "claude", Switch: "CLAUDE_CODE_USE_VERTEX", Passes: googleVariables(),
			Needs: []Need{{What: "a region", AnyOf: []string{"CLOUD_ML_REGION"}},
				{What: "a project", AnyOf: []string{"ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT",
					"GOOGLE_APPLICATION_CREDENTIALS"}},
				googleCredentials("CLAUDE_CODE_SKIP_VERTEX_AUTH")}},
		{Name: "foundry", Title: "Microsoft Foundry (Azure)", Family: "claude", Switch: "CLAUDE_CODE_USE_FOUNDRY",
			Passes: azureVariables(),
			Needs: []Need{{What: "a resource", AnyOf: []string{"ANTHROPIC_FOUNDRY_RESOURCE", "ANTHROPIC_FOUNDRY_BASE_URL"}},
				{What: "credentials of Azure", Ambient: true, AnyOf: []string{"ANTHROPIC_FOUNDRY_API_KEY",
					"AZURE_CLIENT_ID+AZURE_TENANT_ID+AZURE_CLIENT_SECRET", "AZURE_CLIENT_ID+AZURE_TENANT_ID+AZURE_FEDERATED_TOKEN_FILE",
					"$HOME/.azure/azureProfile.json", "CLAUDE_CODE_SKIP_FOUNDRY_AUTH"}}}},
		{Name: "vertex", Title: "Google Vertex AI", Family: "gemini", Switch: "GOOGLE_GENAI_USE_VERTEXAI", Passes: googleVariables(),
			Needs: []Need{{What: "a project", AnyOf: []string{"GOOGLE_CLOUD_PROJECT", "GOOGLE_API_KEY"}},
				{What: "a location", AnyOf: []string{"GOOGLE_CLOUD_LOCATION", "GOOGLE_API_KEY"}}, googleCredentials("GOOGLE_API_KEY")}},
		{Name: "bedrock", Title: "Amazon Bedrock", Family: "opencode", Config: openCode, Says: `amazon-bedrock`,
			Passes: awsVariables(), Needs: awsNeeds()},
		{Name: "vertex", Title: "Google Vertex AI", Family: "opencode", Config: openCode, Says: `google-vertex`,
			Passes: googleVariables(), Needs: []Need{{What: "a project", AnyOf: []string{"GOOGLE_CLOUD_PROJECT", "GOOGLE_VERTEX_PROJECT",
				"GCLOUD_PROJECT"}}, googleCredentials()}},
		{Name: "azure", Title: "Azure OpenAI", Family: "opencode", Config: openCode, Says: `"azure`, Passes: azureVariables(),
			Needs: []Need{{What: "a resource", AnyOf: []string{"AZURE_RESOURCE_NAME", "AZURE_COGNITIVE_SERVICES_RESOURCE_NAME"}},
				{What: "a key", AnyOf: []string{"AZURE_API_KEY", "AZURE_COGNITIVE_SERVICES_API_KEY"}}}},
		{Name: "bedrock", Title: "Amazon Bedrock", Family: "codex", Config: codexConfig, Says: `amazon-bedrock`,
			Passes: awsVariables(), Needs: awsNeeds()},
		{Name: "azure", Title: "Azure OpenAI", Family: "codex", Config: codexConfig, Says: `AZURE_OPENAI_API_KEY`,
			Passes: azureVariables(), Needs: []Need{{What: "a key", AnyOf: []string{"AZURE_OPENAI_API_KEY"}}}},
	}
}

// Chosen reports whether a runtime with these variables uses the provider.
func (p Provider) Chosen(lookup func(name string) string) bool {
	if p.Switch != "" {
		return on(lookup(p.Switch))
	}
	said := lookup(p.Config)
	if strings.HasPrefix(p.Config, "$") {
		raw, err := os.ReadFile(os.Expand(p.Config, func(name string) string { return home(name, lookup) }))
		if said = string(raw); err != nil {
			return false // a missing configuration chooses nothing
		}
	}
	return strings.Contains(said, p.Says)
}

// home returns the value of a variable that names a folder, or codex's default.
func home(name string, lookup func(string) string) string {
	if value := lookup(name); value != "" || name != "CODEX_HOME" {
		return value
	}
	return lookup("HOME") + "/.codex"
}

// choose explains how to choose the provider.
func (p Provider) choose() string {
	if p.Switch != "" {
		return p.Switch + "=true"
	}
	return strings.Trim(p.Says, `"`) + " in " + strings.TrimPrefix(p.Config, "$")
}

// on reports whether a switch is on, by the agents' rules.
func on(value string) bool {
	return !slices.Contains([]string{"", "0", "false", "no", "off"}, strings.ToLower(strings.TrimSpace(value)))
}

// met reports whether variables satisfy the requirement.
func (n Need) met(lookup func(name string) string) bool {
	return slices.ContainsFunc(n.AnyOf, func(way string) bool {
		if strings.HasPrefix(way, "$") {
			_, err := os.Stat(os.Expand(way, lookup))
			return err == nil
		}
		return !slices.ContainsFunc(strings.Split(way, "+"), func(name string) bool { return lookup(name) == "" })
	})
}
