package configured_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"harness/internal/services/tools"
	"harness/internal/services/tools/configured"
)

// The error of an invalid configuration lists all problems and the right form.
func TestConfiguredTools(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"":   "",
		"[]": "write {",
		`{"team.look": {"command": ["true"], "class": "read-only", "description": "d"}}`:                            "",
		`{"team.look": {"class": "read-only", "description": "d"}, "team.more": {"command": ["true"]}}`:             "has no command",
		`{"team.look": {"command": ["true"], "description": "d", "privileged": true}}`:                              "privileged",
		`{"team.look": {"command": ["true"], "description": "d"}}`:                                                  "class",
		`{"look": {"command": ["true"], "class": "write", "description": "d"}}`:                                     "namespace",
		`{"team.look": {"command": ["true"], "class": "write", "description": "d", "input": {"type": "nonsense"}}}`: "input schema",
	} {
		all, err := configured.Tools(text)
		if err == nil {
			_, err = tools.NewRegistry(tools.RegistryOptions{AllowDangerous: true, AllowNetwork: true}, all...)
		}
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// A command gets its input and the folder, and nothing of the server's environment. It returns an object or a text, and
// ends with its call, including its child processes.
func TestCommandsAreRun(t *testing.T) {
	t.Setenv("HARNESS_PLANTED", "secret")
	folder := t.TempDir()
	run := func(ctx context.Context, script string) (string, error) {
		t.Helper()
		text, err := json.Marshal(map[string]any{"team.script": map[string]any{"command": []string{"sh", "-c", script},
			"class": "write", "description": "d", "env": map[string]string{"GIVEN": "yes"}}})
		if err != nil {
			t.Fatal(err)
		}
		all, err := configured.Tools(string(text))
		if err != nil {
			t.Fatal(err)
		}
		output, err := all[0].Run(ctx, tools.Job{Input: json.RawMessage(`{"a":1}`), Workspace: folder, Stdout: io.Discard,
			Stderr: io.Discard})
		return string(output), err
	}
	for script, want := range map[string]string{
		"cat":                             `{"a":1}`,
		"echo plain":                      `{"output":"plain"}`,
		"echo $GIVEN$HARNESS_PLANTED":     `{"output":"yes"}`,
		"echo here > made; cat made":      `{"output":"here"}`,
		"sleep 1000 >/dev/null & echo up": `{"output":"up"}`,
	} {
		if got, err := run(t.Context(), script); err != nil || got != want {
			t.Errorf("%s: %s (%v)", script, got, err)
		}
	}
	if _, err := run(t.Context(), "echo no such thing >&2; exit 3"); err == nil ||
		!strings.Contains(err.Error(), "no such thing") {
		t.Errorf("a failure is reported as %v", err)
	}
	if _, err := run(t.Context(), "head -c 9000000 /dev/zero"); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("too much output is reported as %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	pipe := filepath.Join(folder, "began")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := run(ctx, "sleep 1003 & echo > "+pipe+"; wait")
		ended <- err
	}()
	if _, err := os.ReadFile(pipe); err != nil { // the command has started
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("a run that was given up ended well")
	}
	if left, err := filepath.Glob("/proc/[0-9]*/cmdline"); err == nil {
		for _, one := range left {
			if text, err := os.ReadFile(one); err == nil && string(text) == "sleep\x001003\x00" {
				t.Errorf("%s goes on", one)
			}
		}
	}
}

// The tools of MCP servers, over HTTP and over pipes: those with a class are offered; a failure has its reason, and the
// errors of a server are reported.
func TestToolsOfServers(t *testing.T) {
	t.Parallel()
	remote := mcp.NewServer(&mcp.Implementation{Name: "remote", Version: "1"}, nil)
	type wish struct {
		Word string `json:"word"`
	}
	say := func(_ context.Context, _ *mcp.CallToolRequest, in wish) (*mcp.CallToolResult, any, error) {
		if in.Word == "no" {
			return nil, nil, errors.New("not that word")
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "said " + in.Word}}}, nil, nil
	}
	mcp.AddTool(remote, &mcp.Tool{Name: "say", Description: "says"}, say)
	mcp.AddTool(remote, &mcp.Tool{Name: "other", Description: "says"}, say)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return remote }, nil)
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer given" {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(door.Close)
	open := `{"far": {"url": "` + door.URL + `", "headers": {"Authorization": "Bearer given"}, "classes": {"say": "read-only"}}}`
	all, unclassed, _, err := configured.ServerTools(t.Context(), open)
	if err != nil || len(all) != 1 || all[0].Name != "far.say" || all[0].Class != tools.ReadOnly ||
		len(unclassed) != 1 || unclassed[0] != "far.other" {
		t.Fatalf("there are %v, without a class %v (%v)", all, unclassed, err)
	}
	if _, err := tools.NewRegistry(tools.RegistryOptions{}, all...); err != nil {
		t.Error(err)
	}
	job := tools.Job{Input: json.RawMessage(`{"word":"yes"}`), Workspace: t.TempDir()}
	if output, err := all[0].Run(t.Context(), job); err != nil || string(output) != `{"output":"said yes"}` {
		t.Errorf("it answered %s (%v)", output, err)
	}
	job.Input = json.RawMessage(`{"word":"no"}`)
	if _, err := all[0].Run(t.Context(), job); err == nil || !strings.Contains(err.Error(), "not that word") {
		t.Errorf("it failed with %v", err)
	}
	for text, says := range map[string]string{
		"[]": "write {", `{"far": {}}`: "a command or a url",
		strings.Replace(open, "given", "taken", 1):  "does not answer",
		strings.Replace(open, `"say"`, `"sing"`, 1): "has no tool sing",
		`{"near": {"command": ["/none/of/these"]}}`: "does not answer",
	} {
		if _, _, _, err := configured.ServerTools(t.Context(), text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
	own, err := json.Marshal(map[string]any{"near": map[string]any{"command": []string{os.Args[0]},
		"env": map[string]string{runAsServer: "1"}, "classes": map[string]string{"say": "write"}}})
	if err != nil {
		t.Fatal(err)
	}
	if all, _, _, err = configured.ServerTools(t.Context(), string(own)); err != nil || len(all) != 1 {
		t.Fatalf("over pipes there are %v (%v)", all, err)
	}
	job.Input = json.RawMessage(`{}`)
	if output, err := all[0].Run(t.Context(), job); err != nil || string(output) != `{"output":"near"}` {
		t.Errorf("over pipes it answered %s (%v)", output, err)
	}
}

// TL-25: of several ways to a server, the list and the calls use the first that works. The report names it and the
// errors of those before it.
func TestFirstWorkingMethodIsUsed(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	remote := mcp.NewServer(&mcp.Implementation{Name: "remote", Version: "1"}, nil)
	mcp.AddTool(remote, &mcp.Tool{Name: "say", Description: "says"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "far"}}}, nil, nil
		})
	door := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return remote }, nil))
	t.Cleanup(door.Close)
	type object = map[string]any
	refused, pipes := object{"url": closed.URL}, object{"command": []string{os.Args[0]}, "env": object{runAsServer: "1"}}
	missing, works := object{"command": []string{"/none/of/these"}}, object{"url": door.URL}
	for _, c := range []struct {
		ways                []object
		way                 int
		transport, answered string
	}{
		{[]object{refused, pipes, works}, 2, "stdio", "near"}, {[]object{works, pipes}, 1, "http", "far"},
		{[]object{missing, refused, works}, 3, "http", "far"},
	} {
		text, err := json.Marshal(object{"any": object{"ways": c.ways, "classes": object{"say": "write"}}})
		if err != nil {
			t.Fatal(err)
		}
		all, _, reached, err := configured.ServerTools(t.Context(), string(text))
		if err != nil || len(all) != 1 || len(reached) != 1 {
			t.Fatalf("%s: %v, %v, %v", text, all, reached, err)
		}
		if one := reached[0]; one.Server != "any" || one.Way != c.way || one.Transport != c.transport ||
			len(one.Failed) != c.way-1 {
			t.Errorf("%s: reached %+v", text, one)
		}
		output, err := all[0].Run(t.Context(), tools.Job{Input: json.RawMessage(`{}`), Workspace: t.TempDir()})
		if err != nil || string(output) != `{"output":"`+c.answered+`"}` {
			t.Errorf("%s: answered %s, %v", text, output, err)
		}
	}
	for text, says := range map[string]string{
		`{"any": {"ways": [{"command": ["/none/of/these"]}]}}`:                 "does not answer",
		`{"any": {"url": "http://127.0.0.1:1", "ways": [{"command": ["x"]}]}}`: "needs a command or a url",
	} {
		if _, _, _, err := configured.ServerTools(t.Context(), text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// runAsServer makes this test binary an MCP server.
const runAsServer = "CONFIGURED_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(runAsServer) == "" {
		os.Exit(m.Run())
	}
	near := mcp.NewServer(&mcp.Implementation{Name: "near", Version: "1"}, nil)
	mcp.AddTool(near, &mcp.Tool{Name: "say", Description: "says"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "near"}}}, nil, nil
		})
	if err := near.Run(context.Background(), &mcp.StdioTransport{}); err != nil && !errors.Is(err, io.EOF) {
		panic(err)
	}
}
