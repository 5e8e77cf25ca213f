package login

import (
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/oidctest"
	"harness/tests/programtest"
)

// An agent that may read the machine's files cannot read the secret of this server's client.
func TestAgentsDoNotReadTheClientsSecret(t *testing.T) {
	t.Parallel()
	issuer := oidctest.NewIssuer(t)
	file := providers(t, map[string]any{"name": "corp", "issuer": issuer.URL, "clientId": "harness", "clientSecretFile": "secret"})
	server := programtest.New(t, programtest.WithEnv("HARNESS_OIDC_FILE="+file)).Start()
	session := server.CreateSession(programtest.Object{"filesystemSandbox": "workspace-write", "approvalPolicy": "never", "cwd": server.Workspace})
	turn := server.Send(session, "MOCK_CMD[echo looked; cat "+filepath.Dir(file)+"/secret "+file+" 2>&1]")
	answer := ""
	server.Eventually("the agent has looked", func() bool {
		for _, entry := range server.Transcript(session) {
			if entry["turnId"] == turn && entry["role"] == "assistant" && entry["status"] == "complete" {
				answer = programtest.Text(entry, "content")
			}
		}
		return answer != ""
	})
	if strings.Contains(answer, clientSecret) || !strings.Contains(answer, "looked") || !strings.Contains(answer, issuer.URL) {
		t.Errorf("the agent sees %s", answer)
	}
	server.Stop()
}
