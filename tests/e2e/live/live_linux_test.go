//go:build live

package live

import (
	"cmp"
	"net/http"
	"os"
	"testing"

	"harness/tests/programtest"
)

// TE-05: every agent of this machine with credentials answers a prompt and runs a command. The test names agents that
// are missing or not logged in, and skips them. It fails if it tested no agent.
func TestRealRuntimes(t *testing.T) {
	if os.Getenv("RUN_LIVE_TESTS") != "1" {
		t.Fatal("it asks real models, which costs money: set RUN_LIVE_TESTS=1 (make live does)")
	}
	site := programtest.New(t, programtest.WithoutAgent())
	site.Env = append(os.Environ(), "HARNESS_RUNTIMES="+cmp.Or(os.Getenv("HARNESS_RUNTIMES"), "codex,claude,gemini,opencode"),
		"PORT=0", "DATA_DIR="+site.DataDir, "DATABASE_URL=", "HARNESS_LOG_FORMAT=json", "LOG_LEVEL=info",
		"DEFAULT_SANDBOX_MODE=danger-full-access", "DEFAULT_NETWORK_ACCESS=enabled")
	server := site.Start()
	tried := 0
	for _, one := range server.Want(http.StatusOK, http.MethodGet, "/v1", nil)["runtimes"].([]any) {
		name, _ := one.(string)
		var health programtest.Object
		server.Eventually("it is known whether "+name+" is there", func() bool {
			health = server.Want(http.StatusOK, http.MethodGet, "/v1/health?runtime="+name, nil)
			return health["state"] != "starting" && health["state"] != "stopped"
		})
		if health["ok"] != true || programtest.Text(health, "auth", "loggedIn") != "true" {
			t.Logf("%s is not tried: %v", name, health)
			continue
		}
		tried++
		t.Run(name, func(t *testing.T) {
			smoke(t, server, name, "Answer with the one word pong. Use no tool.", "pong", func(run string) string {
				return "Run exactly this shell command once, and nothing else: " + run
			})
		})
	}
	if tried == 0 {
		t.Error("no agent of this machine is logged in: harness doctor says what to do")
	}
	server.Stop()
}
