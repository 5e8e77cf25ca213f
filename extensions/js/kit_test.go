package js_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/extensions/js"
	"harness/tests/extensionstest"
)

func source(dir, entry string) extensions.Source {
	return extensions.Source{
		ModuleName: "probe", Name: "@test/probe", Version: "1.0.0", AgentID: "probe",
		Root: dir, SourceRoot: dir, Entrypoint: filepath.Join(dir, entry), Trust: extensions.TrustWarn,
	}
}

func newHost(limits js.Limits) *js.Host {
	if limits.Grace == 0 && engineSlowdown > 1 {
		// The engine checks for interrupts every 10,000 steps, which takes noticeable time only with the race detector.
		limits.Grace = 2 * time.Second
	}
	return js.New(js.Options{Limits: limits, Logger: zerolog.Nop()})
}

// load loads an extension with one file and closes it at the end of the test.
func load(t testing.TB, host *js.Host, code string) extensions.Module {
	t.Helper()
	return extensionstest.Load(t, host, source(extensionstest.Write(t, map[string]string{"events.mjs": code}),
		"events.mjs"))
}
