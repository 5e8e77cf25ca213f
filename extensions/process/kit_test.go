package process_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"harness/extensions"
	"harness/extensions/process"
	runtimeprocess "harness/internal/runtime/process"
	"harness/tests/extensionstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a host with its folder.
type site struct {
	*process.Host
	dir string
}

func newSite(t testing.TB, change func(*process.Options)) site {
	t.Helper()
	s := site{dir: filepath.Join(t.TempDir(), "children")}
	o := process.Options{Dir: s.dir, Logger: zerolog.Nop()}
	if change != nil {
		change(&o)
	}
	var err error
	if s.Host, err = process.New(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	return s
}

// marks returns the markers of the children that should exist now.
func (s site) marks(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, entry := range entries {
		out = append(out, entry.Name())
	}
	return out
}

func nodeSource(t testing.TB, code string) extensions.Source {
	t.Helper()
	dir := extensionstest.Write(t, map[string]string{"events.mjs": code})
	return extensions.Source{
		ModuleName: "probe", Name: "@test/probe", Version: "1.0.0", AgentID: "probe", Root: dir, SourceRoot: dir,
		Entrypoint: filepath.Join(dir, "events.mjs"), Trust: extensions.TrustWarn,
		Runtime: extensions.RuntimeChoice{Host: "node"},
	}
}

// shellSource makes an extension from a shell script: the cheapest way to get a child that misbehaves.
func shellSource(t testing.TB, script string) extensions.Source {
	t.Helper()
	dir := extensionstest.Write(t, map[string]string{"events.sh": script})
	return extensions.Source{
		ModuleName: "probe", Name: "@test/probe", Root: dir, SourceRoot: dir, Entrypoint: filepath.Join(dir, "events.sh"),
		Trust: extensions.TrustWarn, Runtime: extensions.RuntimeChoice{Host: "process", Command: []string{"sh", "events.sh"}},
	}
}

// slack is the maximum delay of a handler's answer after its timeout. The promise is 50 ms on a machine that is not
// overloaded.
const slack = slowness * 600 * time.Millisecond

// cut runs a handler that must be cut off and checks that the error arrives in time.
func cut(t *testing.T, module extensions.Module, number int, timeout time.Duration) {
	t.Helper()
	extensionstest.Cut(t, module, number, timeout, slack, &extensionstest.Tools{})
}

// nothingLeft checks that no process with these markers is alive.
func nothingLeft(t *testing.T, marks ...string) {
	t.Helper()
	for _, mark := range marks {
		left, err := runtimeprocess.Marked(mark)
		if err != nil || len(left) > 0 {
			t.Errorf("%s: %v, %v", mark, left, err)
		}
	}
}
