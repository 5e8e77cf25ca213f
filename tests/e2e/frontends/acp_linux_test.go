package frontends

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"harness/tests/programtest"
)

// acpClient is an editor that started `harness acp`.
type acpClient struct {
	t     *testing.T
	in    io.Writer
	lines chan string
	seen  []string
}

func startACP(s *programtest.Site, port, runtime string) *acpClient {
	s.T.Helper()
	cmd := exec.CommandContext(s.T.Context(), programtest.Program(s.T), "acp", "--runtime", runtime, "--url", "http://127.0.0.1:"+port)
	cmd.Env, cmd.Dir, cmd.Stderr = s.Environ(), s.Workspace, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		s.T.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.T.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	c := &acpClient{t: s.T, in: in, lines: make(chan string, 1000)}
	go func() {
		scan := bufio.NewScanner(out)
		scan.Buffer(nil, 1<<24)
		for scan.Scan() {
			c.lines <- scan.Text()
		}
		close(c.lines)
	}()
	s.T.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return c
}

func (c *acpClient) send(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		c.t.Fatal(err)
	}
}

// until returns the next line that contains a text.
func (c *acpClient) until(text string) string {
	c.t.Helper()
	for patience := time.After(programtest.Patience); ; {
		select {
		case line, open := <-c.lines:
			if !open {
				c.t.Fatalf("the bridge ended without %q: %s", text, strings.Join(c.seen, "\n"))
			}
			if c.seen = append(c.seen, line); strings.Contains(line, text) {
				return line
			}
		case <-patience:
			c.t.Fatalf("no line has %q: %s", text, strings.Join(c.seen, "\n"))
		}
	}
}

// FE-50: an editor on `harness acp` sees a killed server as a pause: its open prompt is answered once, the permission it
// shows counts, the command runs once, and each text comes once.
func TestAnEditorOutlivesAKilledServer(t *testing.T) {
	t.Parallel()
	s := programtest.WithClaude(t)
	port := freePort(t)
	server := s.Start("PORT="+port, "HARNESS_TRUST_LOCAL=true")
	c := startACP(s, port, "claude")
	c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`)
	c.until(`"id":0,`)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, s.Workspace)
	var made struct{ Result struct{ SessionID string } }
	if err := json.Unmarshal([]byte(c.until(`"id":1,`)), &made); err != nil || made.Result.SessionID == "" {
		t.Fatalf("no session: %v %s", err, c.seen)
	}
	id := made.Result.SessionID
	c.send(`{"jsonrpc":"2.0","id":2,"method":"session/set_mode","params":{"sessionId":%q,"modeId":"ask"}}`, id)
	c.until(`"id":2,`)
	c.send(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"MOCK_REPLY[first answer]"}]}}`, id)
	c.until(`"id":3,`)

	ran := filepath.Join(s.Workspace, "ran.txt")
	c.send(`{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"MOCK_CMD[echo once >> %s]"}]}}`, id, ran)
	var asked struct{ ID string }
	if err := json.Unmarshal([]byte(c.until("session/request_permission")), &asked); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	server = s.Start("PORT="+port, "HARNESS_TRUST_LOCAL=true")
	c.send(`{"jsonrpc":"2.0","id":%q,"result":{"outcome":{"outcome":"selected","optionId":"accept"}}}`, asked.ID)
	if answer := c.until(`"id":4,`); !strings.Contains(answer, `"end_turn"`) {
		t.Errorf("the prompt got %s", answer)
	}
	if text, err := os.ReadFile(ran); err != nil || string(text) != "once\n" {
		t.Errorf("the command wrote %q, %v", text, err)
	}
	c.send(`{"jsonrpc":"2.0","id":5,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"MOCK_REPLY[last answer]"}]}}`, id)
	c.until(`"id":5,`)
	story := strings.Join(c.seen, "\n")
	for _, once := range []string{`"id":4,`, "session/request_permission"} {
		if n := strings.Count(story, once); n != 1 {
			t.Errorf("%s came %d times:\n%s", once, n, story)
		}
	}
	if strings.Contains(story, "user_message_chunk") {
		t.Errorf("the editor got its own messages:\n%s", story)
	}
	server.Stop()
}
