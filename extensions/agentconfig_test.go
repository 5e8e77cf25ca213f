package extensions

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestAgentConfig(t *testing.T) {
	t.Parallel()
	plain := defaultAgentConfig()
	other := AgentConfig{Model: "m", FilesystemSandbox: "read-only", NetworkAccess: "restricted", ApprovalPolicy: "on-request", Effort: "high",
		Orientation: "Hello.", TurnTimeout: 90 * time.Second}
	for _, c := range []struct {
		name, text string
		want       *AgentConfig
		note, err  string
	}{
		{name: "nothing said", text: `{}`, want: &plain},
		{name: "everything said", want: &other, text: "\ufeff" + `{"model":"m","sandbox":"read-only","networkAccess":"restricted","approvalPolicy":"on-request","effort":"high","orientation":"Hello.","turnTimeoutMs":90000}`},
		{name: "unknown member", text: `{"colour":"red"}`, want: &plain, note: "agent.config.json: colour is unknown"},
		{name: "syntax", text: "{\n\"model\":}", err: "line 2 column 9"},
		{name: "a list", text: `[]`, err: "it is no JSON object"},
		{name: "misspelt sandbox", text: `{"sandbox":"readonly","effort":1}`, err: `effort must be a non-empty string; sandbox is "readonly"; use read-only`},
		{name: "timeout", text: `{"turnTimeoutMs":5}`, err: "turnTimeoutMs must be a whole number from 1000 to 3600000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, agentConfigFile), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, notes, err := readAgentConfig(dir)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("refused as %v", err)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, c.want) || !strings.Contains(strings.Join(notes, "\n"), c.note) {
				t.Errorf("got %+v %v %v", got, notes, err)
			}
		})
	}
	if got, _, err := readAgentConfig(t.TempDir()); got != nil || err != nil {
		t.Errorf("without a file: %v %v", got, err)
	}
}
