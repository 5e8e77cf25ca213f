package runtimetest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Reach lists the actions that an agent completed: it wrote in its folder and elsewhere, with a command and with its
// file tool, and a command reached the network.
type Reach struct{ Command, File, Outside, OutsideFile, Network bool }

// Everything returns the reach of an unrestricted agent.
func Everything() Reach { return Reach{true, true, true, true, true} }

// Ground is the place where an agent tests its limits.
type Ground struct {
	// Dir is its folder. Outside is another folder, not below the folders for temporary files: some sandboxes leave
	// those open. URL is the address of a server outside of the sandbox.
	Dir, Outside, URL string

	visits atomic.Int64
}

// NewGround makes a ground around an agent's folder.
func NewGround(t *testing.T, dir string) *Ground {
	t.Helper()
	outside, err := os.MkdirTemp("/var/tmp", "harness-outside-") //nolint:usetesting // a test's own may be in such a folder
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(outside); err != nil {
			t.Error(err)
		}
	})
	g := &Ground{Dir: dir, Outside: outside}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { g.visits.Add(1) }))
	t.Cleanup(server.Close)
	g.URL = server.URL
	return g
}

// Tries returns a prompt with which a scripted model tries everything in one turn; command and file make its parts.
func (g *Ground) Tries(command, file func(string) string) string {
	return strings.Join(g.Each(command, file), " ")
}

// Each is Tries, with a turn for each.
func (g *Ground) Each(command, file func(string) string) []string {
	return []string{
		command("touch " + filepath.Join(g.Dir, "command")), file(filepath.Join(g.Dir, "file")),
		command("touch " + filepath.Join(g.Outside, "command")), file(filepath.Join(g.Outside, "file")),
		command("curl --noproxy '' -s -m 5 -o /dev/null " + g.URL),
	}
}

// Reached returns the completed actions so far.
func (g *Ground) Reached() Reach {
	there := func(folder, name string) bool {
		_, err := os.Stat(filepath.Join(folder, name))
		return err == nil
	}
	return Reach{Command: there(g.Dir, "command"), File: there(g.Dir, "file"), Outside: there(g.Outside, "command"),
		OutsideFile: there(g.Outside, "file"), Network: g.visits.Load() > 0}
}
