package console

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/outside"
)

// The core of the page, without a browser: console/web/src/core/*.test.ts, and the check that all of its sources have
// types.
func TestTheCoreOfThePage(t *testing.T) {
	t.Parallel()
	outside.Needs(t, "Node.js")
	const runner = "web/node_modules/vitest/vitest.mjs"
	if _, err := os.Stat(runner); err != nil {
		t.Fatalf("%v: run scripts/console.sh, which needs Node.js 20.19 or newer and npm", err)
	}
	read := 0 // reading the sources makes go test's cache depend on them
	err := filepath.WalkDir("web/src", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		read++
		_, err = os.ReadFile(path)
		return err
	})
	if err != nil || read == 0 {
		t.Fatalf("read the sources of the page: %d, %v", read, err)
	}
	tests := exec.CommandContext(t.Context(), "node", "node_modules/vitest/vitest.mjs", "run", "--no-color")
	tests.Dir = "web"
	said, err := tests.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "Tests ") {
		t.Fatalf("the tests of the page's core: %v\n%s", err, said)
	}
}

// The page is built with the types that api/openapi.yaml generates now; HARNESS_UPDATE=1 regenerates them.
func TestTypesOfTheAPI(t *testing.T) {
	t.Parallel()
	outside.Needs(t, "Node.js")
	for _, path := range []string{"../api/openapi.yaml", "web/scripts/api.mjs", "web/src/api/schema.d.ts"} { // as above
		if _, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"scripts/api.mjs"}
	if os.Getenv("HARNESS_UPDATE") == "" {
		args = append(args, "--check")
	}
	check := exec.CommandContext(t.Context(), "node", args...)
	check.Dir = "web"
	if said, err := check.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

// largestChunk is the maximum size of a chunk that is loaded on demand, in bytes of gzip.
const largestChunk = 90 << 10

// Chunks loaded on demand are small. The browser tests limit the size of the chunks loaded first (tests/e2e/clients).
func TestChunksAreSmall(t *testing.T) {
	t.Parallel()
	outside.Needs(t, "Node.js")
	page, err := os.ReadFile("dist/app/index.html")
	if err != nil {
		t.Fatalf("%v: run scripts/console.sh, which needs Node.js 20.19 or newer and npm", err)
	}
	chunks, err := filepath.Glob("dist/app/assets/*.js.gz")
	if err != nil || len(chunks) < 2 {
		t.Fatalf("the page has %d chunks: %v", len(chunks), err)
	}
	for _, path := range chunks {
		chunk, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		first := strings.Contains(string(page), strings.TrimSuffix(filepath.Base(path), ".gz"))
		if !first && chunk.Size() > largestChunk {
			t.Errorf("%s has %d bytes, more than %d", path, chunk.Size(), largestChunk)
		}
	}
}
