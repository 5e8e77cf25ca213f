package agents

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"

	"harness/tests/programtest"
)

// requireSecretsKept searches for leaked secrets, and for OpenCode's password in its command line and in the
// log.
func requireSecretsKept(s *programtest.Site, server *programtest.Server, pid string, secrets ...string) {
	s.T.Helper()
	environ, err := os.ReadFile("/proc/" + pid + "/environ")
	if err != nil {
		s.T.Fatal(err)
	}
	password := ""
	for assignment := range strings.SplitSeq(string(environ), "\x00") {
		if value, is := strings.CutPrefix(assignment, "OPENCODE_SERVER_PASSWORD="); is {
			password = value
		}
		if home, is := strings.CutPrefix(assignment, "HOME="); is && !strings.HasPrefix(home, s.DataDir) {
			s.T.Errorf("its home is %s", home)
		}
	}
	if len(password) != 64 || !strings.Contains(string(environ), "canary-of-opencode") {
		s.T.Errorf("its password has %d characters", len(password))
	}
	cmdline, err := os.ReadFile("/proc/" + pid + "/cmdline")
	if err != nil {
		s.T.Fatal(err)
	}
	health, _ := json.Marshal(server.Want(http.StatusOK, http.MethodGet, "/api/health", nil))
	for _, secret := range append(secrets, password, "canary-of-opencode") {
		if strings.Contains(string(cmdline), secret) || strings.Contains(server.Log(), secret) ||
			strings.Contains(string(health), secret) {
			s.T.Errorf("%s is in the command line, the log or health", secret)
		}
	}
	for _, secret := range secrets {
		if strings.Contains(string(environ), secret) {
			s.T.Errorf("OpenCode inherits %s", secret)
		}
	}
}
