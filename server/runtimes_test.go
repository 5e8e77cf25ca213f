package server

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"harness/internal/runtime"
)

// versioned is an adapter that reports a version.
type versioned struct {
	runtime.Adapter
	version string
}

func (v versioned) Name() string           { return "agent" }
func (v versioned) Status() runtime.Status { return runtime.Status{Version: v.version} }
func (v versioned) Install() runtime.Install {
	return runtime.Install{Tested: []string{"1.0.0", "1.2.3"}}
}

// An agent that is newer than the tested versions is used, with one line of warning.
func TestANewerAgentIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	for version, lines := range map[string]int{"1.2.4": 1, "1.2.3": 0, "": 0} {
		var log bytes.Buffer
		s := &runtimes{core: &core{log: zerolog.New(&log)}, adapters: []runtime.Adapter{versioned{version: version}}}
		var once sync.Once
		for range 3 {
			s.warnNewer("agent", &once)
		}
		if got := strings.Count(log.String(), "\n"); got != lines || lines > 0 && !strings.Contains(log.String(), `"tested":"1.2.3"`) {
			t.Errorf("version %q is warned of with %s", version, log.String())
		}
	}
}
