package agenttest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"harness/tests/outside"
)

// Clients returns the folder of npm programs that scripts/clients.sh installed for a kind, whose files pin them. The
// error names the command that installs missing ones.
func Clients(t *testing.T, kind string, pinned ...string) string {
	t.Helper()
	outside.Needs(t, kind)
	sum := sha256.New()
	for _, name := range pinned {
		content, err := os.ReadFile(filepath.Join(root(t), "scripts", kind, name)) //nolint:gosec // of the repository
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(content)
	}
	folder := filepath.Join(Cache(t), kind+"-"+hex.EncodeToString(sum.Sum(nil))[:16])
	if _, err := os.Stat(folder); err != nil {
		t.Fatalf("%s is not in the cache (%s); install it with: scripts/clients.sh %s", kind, folder, kind)
	}
	return folder
}
