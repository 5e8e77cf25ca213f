package client_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTheClientIsWhatTheDocumentSays checks that generated.go is the pinned generator's output for api/openapi.yaml.
// HARNESS_UPDATE=1 regenerates it.
func TestTheClientIsWhatTheDocumentSays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "generated.go")
	if os.Getenv("HARNESS_UPDATE") != "" {
		path = "generated.go"
	}
	if out, err := exec.Command("../scripts/client.sh", path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	made, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile("generated.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made, committed) {
		t.Error("client/generated.go is out of date; write it anew with scripts/client.sh client/generated.go")
	}
}
