package clients

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"harness/tests/contract/codesdk"
	"harness/tests/outside"
	"harness/tests/programtest"
)

// upstreamTarget is a server as programs that start codesdkd run it, with the real codex and a scripted model.
type upstreamTarget struct {
	*programtest.Site
	server *programtest.Server
}

// URL implements codesdk.Target.
func (u *upstreamTarget) URL() string { return u.server.URL + "/v1" }

// Workspace implements codesdk.Target.
func (u *upstreamTarget) Workspace() string { return u.Site.Workspace }

// Words implements codesdk.Target.
func (u *upstreamTarget) Words(message, task string) string {
	const hello = `{"path":"hello.txt"}`
	switch message {
	case "tool":
		return programtest.OwnedTool("workspace_read", hello)
	case "tool two":
		return programtest.OwnedTool("workspace_read", hello) + programtest.OwnedTool("workspace_read", hello)
	case "tool escape":
		return programtest.OwnedTool("workspace_read", `{"path":"../etc/passwd"}`)
	case "tool badinput":
		return programtest.OwnedTool("workspace_read", `{"path":5}`)
	case "tool unknowntool":
		return programtest.OwnedTool("nope_tool", hello)
	case "tool big":
		return programtest.OwnedTool("workspace_read", `{"path":"big.txt"}`)
	case "failmid":
		return "MOCK_HTTP_500"
	case "slow":
		return "MOCK_HOLD[" + task + "]"
	}
	return "MOCK_REPLY[hello]"
}

// Held implements codesdk.Target.
func (u *upstreamTarget) Held(task string) error {
	ctx, cancel := context.WithTimeout(context.Background(), programtest.Patience)
	defer cancel()
	return u.Model.WaitHeld(ctx, task)
}

// EV-27, EV-04, EV-05, SE-07, TL-03, TL-20: clients of codesdkd get the same responses and events here, except for
// the listed differences.
func TestClientsOfCodesdkdAreServed(t *testing.T) {
	t.Parallel()
	outside.Needs(t, "an agent") // the differences are listed for all topics together
	var mu sync.Mutex
	var all []codesdk.Difference
	t.Run("topics", func(t *testing.T) {
		for _, topics := range [][]string{{"cli-daemon", "tasks", "ask-approve-deny", "seq-collision"}, {"limits"}} {
			t.Run(topics[0], func(t *testing.T) {
				t.Parallel()
				s := programtest.New(t, programtest.WithEnv("HARNESS_TOOLS=workspace.read"))
				for name, content := range map[string]string{"hello.txt": "workspace file\n",
					"big.txt": strings.Repeat("x", 20000)} {
					if err := os.WriteFile(filepath.Join(s.Workspace, name), []byte(content), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				args := []string{"--data-dir", s.DataDir, "--workspace-root", s.Workspace, "--default-permission-mode", "auto"}
				if slices.Contains(topics, "limits") {
					args = append(args, "--limits", "tasks=1,streams=1")
				}
				server, _ := codesdkd(s, args...)
				server.WaitRuntime()
				for _, topic := range topics {
					compared, found, err := codesdk.Replay(topic, &upstreamTarget{s, server})
					if err != nil {
						t.Fatal(err)
					}
					t.Logf("%s: %d answers, events and streams compared, %d differ", topic, compared, len(found))
					mu.Lock()
					all = append(all, found...)
					mu.Unlock()
				}
			})
		}
	})
	if t.Failed() {
		return
	}
	open, idle := codesdk.Unlisted(all)
	for _, d := range open {
		t.Errorf("not listed: %s", d)
	}
	for _, row := range idle {
		t.Errorf("listed, and not met: %s", row.What)
	}
}

const codesdkPage = "../../../docs/codesdk.md"

func TestThePageAboutCodesdkdIsCurrent(t *testing.T) {
	t.Parallel()
	page := codesdk.Page()
	if os.Getenv("HARNESS_UPDATE") != "" {
		if err := os.WriteFile(codesdkPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if written, err := os.ReadFile(codesdkPage); err != nil || string(written) != page {
		t.Errorf("%s is out of date (%v); write it anew with HARNESS_UPDATE=1", codesdkPage, err)
	}
}
