package agents

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/tests/codextest"
	"harness/tests/programtest"
)

// An agent's commands cannot see the server's data directory or settings, and cannot change the code of extensions.
// This holds in any sandbox, with or without the network, on the newest and oldest codex, as root and as another
// user. As root in danger-full-access they could: docs/security.md describes that, and this test does not try it.
func TestAnAgentCannotReachItsKeeper(t *testing.T) {
	t.Parallel()
	for _, version := range []codextest.Version{codextest.Default, codextest.Oldest} {
		for name, runtimeUser := range map[string]string{"this user": "", "without rights": "",
			"for a runtime without rights": "nobody"} {
			user := os.Geteuid()
			if name != "this user" {
				user = programtest.Unprivileged
			}
			if os.Geteuid() != 0 && user == programtest.Unprivileged {
				continue // "this user" has no rights either, and cannot start programs as another
			}
			t.Run(fmt.Sprintf("%s, codex %s", name, version), func(t *testing.T) {
				t.Parallel()
				s := programtest.New(t, programtest.WithCodex(version), programtest.WithEnv("HARNESS_RUNTIME_USER="+runtimeUser))
				if user != os.Geteuid() {
					s.Become(user)
				}
				if err := os.WriteFile(filepath.Join(s.Workspace, ".env"), []byte("HARNESS_ALLOWED_HOSTS=canary.example\n"),
					0o600); err != nil {
					t.Fatal(err)
				}
				extension := filepath.Join(s.Workspace, "agents", "known")
				if err := os.MkdirAll(extension, 0o755); err != nil { //nolint:gosec // a folder like any other
					t.Fatal(err)
				}
				s.Own(s.Workspace)
				if runtimeUser != "" {
					s.User = os.Geteuid() // the server runs as root, with root's files
					if err := os.Chown(s.DataDir, s.User, s.User); err != nil {
						t.Fatal(err)
					}
				}
				server := s.Start("HARNESS_TRUST=true")
				server.WaitRuntime()
				for _, sandbox := range []string{"read-only", "workspace-write", "danger-full-access"} {
					for _, network := range []string{"restricted", "enabled"} {
						tryToEscape(server, user, sandbox, network)
					}
				}
				server.Stop()
			})
		}
	}
}

// tryToEscape runs the attacks in one sandbox.
func tryToEscape(i *programtest.Server, user int, sandbox, network string) {
	i.T.Helper()
	session := i.CreateSession(programtest.Object{"filesystemSandbox": sandbox, "networkAccess": network, "approvalPolicy": "never",
		"cwd": i.Workspace})
	attacks := map[string]string{
		"the database":                "cat " + i.DataDir + "/harness.db",
		"the name of the node":        "cat " + i.DataDir + "/node-id",
		"the token of a shim":         "cat " + i.DataDir + "/run/*/token",
		"the database through others": "cat /proc/*/root" + i.DataDir + "/harness.db",
		"the folder through others": "ls /proc/*/cwd" + strings.Repeat("/..", strings.Count(i.Workspace, "/")) +
			i.DataDir + "/", "the settings": "cat " + i.Workspace + "/.env",
		"the settings written":  "echo HOST=0.0.0.0 >> " + i.Workspace + "/.env && echo written",
		"the settings replaced": "(rm -f .env || mv .env old) && echo HOST=0.0.0.0 > .env && echo written",
		"the consents":          "echo {} > " + home(i.Site) + "/.local/state/harness/trust.json && echo written",
		"the consents replaced": "mv " + home(i.Site) + "/.local/state/harness " + home(i.Site) +
			"/.local/state/old && echo written", "an extension": "mkdir agents/evil && echo written",
		"an extension put in its place": "(mv agents old || rm -rf agents/known) && mkdir -p agents/evil && echo written",
		"the mount taken away":          "umount " + i.DataDir + " && cat " + i.DataDir + "/harness.db",
		"the mount in a user namespace": "unshare -U -r -m sh -c 'umount " + i.DataDir + " && cat " + i.DataDir +
			"/harness.db'", "the namespace of the first process": "nsenter -t 1 -m cat " + i.DataDir + "/harness.db",
		"the namespace of the server": fmt.Sprintf("nsenter -t %d -m cat %s/harness.db", i.Cmd.Process.Pid, i.DataDir),
	}
	var script strings.Builder
	for what, attack := range attacks {
		if user == 0 && sandbox == "danger-full-access" &&
			(strings.Contains(attack, "mount ") || strings.Contains(attack, "nsenter") ||
				strings.Contains(attack, "/proc/*")) {
			delete(attacks, what)
			continue
		}
		fmt.Fprintf(&script, "echo; echo '== %s'; (%s) 2>&1 | head -c 300; ", what, attack)
	}
	before := kept(i)
	var answer string
	turn := i.Send(session, "MOCK_CMD["+script.String()+"]")
	i.Eventually("the attacks are over", func() bool {
		if strings.Contains(answer, "bwrap: Can't remount") { // codexes that start in /tmp at once disturb each other
			turn, answer = i.Send(session, "MOCK_CMD["+script.String()+"]"), ""
		}
		for _, entry := range i.Transcript(session) {
			if entry["turnId"] == turn && entry["role"] == "assistant" && entry["status"] == "complete" {
				answer = programtest.Text(entry, "content")
			}
		}
		return answer != ""
	})
	// The kernel blocked the call before it became a request, so it is one entry among the agent's others.
	if !slices.ContainsFunc(i.Transcript(session), func(entry programtest.Object) bool {
		return entry["type"] == "commandExecution" && strings.Contains(programtest.Text(entry, "details"), i.DataDir+"/harness.db") &&
			strings.Contains(programtest.Text(entry, "details"), "run/*/token")
	}) {
		i.T.Errorf("%s, network %s: the transcript does not name the attempt", sandbox, network)
	}
	results := strings.Split(answer, "\n== ")
	if len(results) != len(attacks)+1 {
		i.T.Errorf("%s, network %s: %d of %d attacks ran: %s", sandbox, network, len(results)-1, len(attacks), answer)
	}
	for _, result := range results {
		for _, shown := range []string{"SQLite format", "written", "canary", "harness.lock"} {
			if _, output, _ := strings.Cut(result, "\n"); strings.Contains(output, shown) {
				i.T.Errorf("%s, network %s: %s", sandbox, network, result)
			}
		}
	}
	if after := kept(i); after != before {
		i.T.Errorf("%s, network %s: %q became %q", sandbox, network, before, after)
	}
}

// home returns the home directory of the servers' user.
func home(s *programtest.Site) string {
	for _, assignment := range s.Env {
		if home, is := strings.CutPrefix(assignment, "HOME="); is {
			return home
		}
	}
	return ""
}

// kept returns the files that no agent may change.
func kept(i *programtest.Server) string {
	i.T.Helper()
	var all strings.Builder
	settings, err := os.ReadFile(filepath.Join(i.Workspace, ".env"))
	if err != nil {
		i.T.Fatal(err)
	}
	all.Write(settings)
	if err := filepath.WalkDir(filepath.Join(i.Workspace, "agents"), func(path string, _ fs.DirEntry, err error) error {
		all.WriteString(path + "\n")
		return err
	}); err != nil {
		i.T.Fatal(err)
	}
	return all.String()
}
