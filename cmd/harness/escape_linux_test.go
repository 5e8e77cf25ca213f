package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/internal/codextest"
)

// unprivileged is a user without rights, for a server that does not run as root.
const unprivileged = 65534

// What an agent runs does not see the server's data directory or settings and cannot change the code of extensions, in
// any sandbox, with the network or without, on the newest codex and the oldest, as root and as somebody else. As root
// in danger-full-access it could: that is said in docs/security.md, and not tried here.
func TestAnAgentCannotReachItsKeeper(t *testing.T) {
	t.Parallel()
	for _, version := range []codextest.Version{codextest.Default, codextest.Oldest} {
		for name, runtimeUser := range map[string]string{"this user": "", "without rights": "",
			"for a runtime without rights": "nobody"} {
			user := os.Geteuid()
			if name != "this user" {
				user = unprivileged
			}
			if os.Geteuid() != 0 && user == unprivileged {
				continue // "this user" has no rights either, and cannot start programs as another
			}
			t.Run(fmt.Sprintf("%s, codex %s", name, version), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, withCodex(version), withEnv("HARNESS_RUNTIME_USER="+runtimeUser))
				if user != os.Geteuid() {
					s.become(user)
				}
				if err := os.WriteFile(filepath.Join(s.workspace, ".env"), []byte("HARNESS_ALLOWED_HOSTS=canary.example\n"),
					0o600); err != nil {
					t.Fatal(err)
				}
				extension := filepath.Join(s.workspace, "agents", "known")
				if err := os.MkdirAll(extension, 0o755); err != nil { //nolint:gosec // a folder like any other
					t.Fatal(err)
				}
				s.own(s.workspace)
				if runtimeUser != "" {
					s.user = os.Geteuid() // the server is root's, with all that is its own
					if err := os.Chown(s.dataDir, s.user, s.user); err != nil {
						t.Fatal(err)
					}
				}
				server := s.start("HARNESS_TRUST=true")
				server.waitRuntime()
				for _, sandbox := range []string{"read-only", "workspace-write", "danger-full-access"} {
					for _, network := range []string{"restricted", "enabled"} {
						server.tryToEscape(user, sandbox, network)
					}
				}
				server.stop()
			})
		}
	}
}

// tryToEscape runs the attacks in one sandbox.
func (i *instance) tryToEscape(user int, sandbox, network string) {
	i.t.Helper()
	session := i.createSession(object{"filesystemSandbox": sandbox, "networkAccess": network, "approvalPolicy": "never",
		"cwd": i.workspace})
	attacks := map[string]string{
		"the database":                "cat " + i.dataDir + "/harness.db",
		"the name of the node":        "cat " + i.dataDir + "/node-id",
		"the token of a shim":         "cat " + i.dataDir + "/run/*/token",
		"the database through others": "cat /proc/*/root" + i.dataDir + "/harness.db",
		"the folder through others": "ls /proc/*/cwd" + strings.Repeat("/..", strings.Count(i.workspace, "/")) +
			i.dataDir + "/", "the settings": "cat " + i.workspace + "/.env",
		"the settings written":  "echo HOST=0.0.0.0 >> " + i.workspace + "/.env && echo written",
		"the settings replaced": "(rm -f .env || mv .env old) && echo HOST=0.0.0.0 > .env && echo written",
		"the consents":          "echo {} > " + i.home() + "/.local/state/harness/trust.json && echo written",
		"the consents replaced": "mv " + i.home() + "/.local/state/harness " + i.home() +
			"/.local/state/old && echo written", "an extension": "mkdir agents/evil && echo written",
		"an extension put in its place": "(mv agents old || rm -rf agents/known) && mkdir -p agents/evil && echo written",
		"the mount taken away":          "umount " + i.dataDir + " && cat " + i.dataDir + "/harness.db",
		"the mount in a user namespace": "unshare -U -r -m sh -c 'umount " + i.dataDir + " && cat " + i.dataDir +
			"/harness.db'", "the namespace of the first process": "nsenter -t 1 -m cat " + i.dataDir + "/harness.db",
		"the namespace of the server": fmt.Sprintf("nsenter -t %d -m cat %s/harness.db", i.cmd.Process.Pid, i.dataDir),
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
	before := i.kept()
	turn := i.send(session, "MOCK_CMD["+script.String()+"]")
	var answer string
	i.eventually("the attacks are over", func() bool {
		for _, entry := range i.transcript(session) {
			if entry["turnId"] == turn && entry["role"] == "assistant" && entry["status"] == "complete" {
				answer = text(entry, "content")
			}
		}
		return answer != ""
	})
	// What failed at a wall of the kernel asked nobody here: it is named where everything is that an agent did.
	if !slices.ContainsFunc(i.transcript(session), func(entry object) bool {
		return entry["type"] == "commandExecution" && strings.Contains(text(entry, "details"), i.dataDir+"/harness.db") &&
			strings.Contains(text(entry, "details"), "run/*/token")
	}) {
		i.t.Errorf("%s, network %s: the transcript does not name the attempt", sandbox, network)
	}
	results := strings.Split(answer, "\n== ")
	if len(results) != len(attacks)+1 {
		i.t.Errorf("%s, network %s: %d of %d attacks ran: %s", sandbox, network, len(results)-1, len(attacks), answer)
	}
	for _, result := range results {
		for _, shown := range []string{"SQLite format", "written", "canary", "harness.lock"} {
			if _, output, _ := strings.Cut(result, "\n"); strings.Contains(output, shown) {
				i.t.Errorf("%s, network %s: %s", sandbox, network, result)
			}
		}
	}
	if after := i.kept(); after != before {
		i.t.Errorf("%s, network %s: %q became %q", sandbox, network, before, after)
	}
}

// home is the home of the servers' user.
func (s *site) home() string {
	for _, assignment := range s.env {
		if home, is := strings.CutPrefix(assignment, "HOME="); is {
			return home
		}
	}
	return ""
}

// kept is what no agent may change.
func (i *instance) kept() string {
	i.t.Helper()
	var all strings.Builder
	settings, err := os.ReadFile(filepath.Join(i.workspace, ".env"))
	if err != nil {
		i.t.Fatal(err)
	}
	all.Write(settings)
	if err := filepath.WalkDir(filepath.Join(i.workspace, "agents"), func(path string, _ fs.DirEntry, err error) error {
		all.WriteString(path + "\n")
		return err
	}); err != nil {
		i.t.Fatal(err)
	}
	return all.String()
}

// become makes the site belong to another user, with a copy of the program that user can start.
func (s *site) become(user int) {
	s.t.Helper()
	s.user = user
	folder := s.t.TempDir()
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil { //nolint:gosec // for the other user
		s.t.Fatal(err)
	}
	copied := func(args ...string) {
		if out, err := exec.Command("cp", args...).CombinedOutput(); err != nil {
			s.t.Fatalf("cp %v: %v %s", args, err, out)
		}
	}
	s.program = filepath.Join(folder, "harness.test")
	own, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	copied(own, s.program)
	if err := os.MkdirAll(s.dataDir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	s.own(s.dataDir)
	for i, assignment := range s.env {
		if home, is := strings.CutPrefix(assignment, "CODEX_HOME="); is {
			s.own(home)
		}
		if bin, is := strings.CutPrefix(assignment, "CODEX_BIN="); is {
			// The whole package, which the cache may keep where this user cannot go: codex finds its helpers beside itself.
			packaged, _, _ := strings.Cut(bin, "/vendor/")
			if exec.Command("cp", "-rl", packaged, folder).Run() != nil {
				copied("-r", packaged, folder)
			}
			s.env[i] = "CODEX_BIN=" + strings.Replace(bin, filepath.Dir(packaged), folder, 1)
		}
	}
}

// own gives a folder to the site's user.
func (s *site) own(folder string) {
	s.t.Helper()
	if s.user == 0 {
		return
	}
	if err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, s.user, s.user)
	}); err != nil {
		s.t.Fatal(err)
	}
}
