package agents

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/programtest"
)

// An agent's child process, which runs as the server's user, cannot read the secrets in the server's environment. It
// can read codex's environment, as the search for leftovers must, which contains no secrets.
func TestTheServersEnvironmentIsPrivate(t *testing.T) {
	t.Parallel()
	// Root reads everything, unless it has dropped these rights, as in most containers. The thread that dropped them is
	// not used again.
	runtime.LockOSThread()
	const sysPtrace, sysAdmin, perfmon = 19, 21, 38
	for _, capability := range []uintptr{sysPtrace, sysAdmin, perfmon} {
		if os.Geteuid() != 0 {
			break
		}
		_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_CAPBSET_DROP, capability, 0)
		// an old kernel does not know it; a container without CAP_SETPCAP has already dropped them
		if errno != 0 && errno != syscall.EINVAL && errno != syscall.EPERM {
			t.Fatal(errno)
		}
	}
	const token, password = "canary-token-0123456789-0123", "canary-password-9876543210"
	s := programtest.New(t, programtest.WithEngine(database.Postgres), programtest.WithEnv("HARNESS_AUTH_TOKEN="+token, "PGPASSWORD="+password))
	server := s.Start()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	if metrics := server.Show(request); !strings.Contains(metrics, "process_open_fds") ||
		!strings.Contains(metrics, "process_resident_memory_bytes") {
		t.Error("the server cannot measure its own use of the machine any more")
	}
	environ := func(pid any) (string, error) {
		out, err := exec.Command("cat", fmt.Sprintf("/proc/%v/environ", pid)).CombinedOutput()
		return string(bytes.ReplaceAll(out, []byte{0}, []byte{'\n'})), err
	}
	if shown, err := environ(server.Cmd.Process.Pid); err == nil {
		t.Errorf("the server's environment is open to its user:\n%s", shown)
	}
	server.WaitRuntime()
	_, health := server.Call(http.MethodGet, "/api/health", nil)
	shown, err := environ(health["codex"].(programtest.Object)["pid"])
	if err != nil || !strings.Contains(shown, "CODEX_HOME=") {
		t.Errorf("codex's environment cannot be read: %v %s", err, shown)
	}
	for _, secret := range []string{token, password, "DATABASE_URL="} {
		if strings.Contains(shown, secret) {
			t.Errorf("codex has %s", secret)
		}
	}
	server.Stop()
}
