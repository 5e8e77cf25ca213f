package clients

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"harness/tests/outside"
)

// generators returns the folder of the client generators for other languages.
func generators(t *testing.T) string {
	t.Helper()
	outside.Needs(t, "the generators of clients")
	return installed(t, "clients", "package-lock.json", "python.mjs")
}

// installed returns the folder of npm programs that scripts/clients.sh installed. The error names the command that
// installs missing ones.
func installed(t *testing.T, kind string, pinned ...string) string {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	sum := sha256.New()
	for _, name := range pinned {
		content, err := os.ReadFile(filepath.Join(root, "scripts", kind, name))
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(content)
	}
	cache := cmp.Or(os.Getenv("HARNESS_CACHE"), filepath.Join(root, ".cache"))
	folder, err := filepath.Abs(filepath.Join(cache, kind+"-"+hex.EncodeToString(sum.Sum(nil))[:16]))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); err != nil {
		t.Fatalf("%s is not in the cache (%s); install it with: scripts/clients.sh %s", kind, folder, kind)
	}
	return folder
}
