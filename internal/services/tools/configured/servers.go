package configured

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"harness/internal/services/tools"
)

// way describes how to reach an MCP server: by a command, over its standard pipes, or at an address.
type way struct {
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// kind returns the transport.
func (w way) kind() string {
	if len(w.Command) > 0 {
		return "stdio"
	}
	return "http"
}

// server is an MCP server in a configuration.
type server struct {
	way
	// Ways replaces the single way with several, the preferred first.
	Ways []way `json:"ways"`
	// Classes are the classes of its tools. A tool without a class is not offered.
	Classes map[string]tools.Class `json:"classes"`
	Seconds int                    `json:"seconds"`
}

// Reached describes how a server was reached.
type Reached struct {
	// Server is its name, Way the number of the way that worked (from 1), Transport http or stdio.
	Server    string `json:"server"`
	Way       int    `json:"way"`
	Transport string `json:"transport"`
	// Failed lists the errors of the ways before it.
	Failed []string `json:"failed,omitempty"`
}

// listWait bounds the listing of a server's tools.
const listWait = 20 * time.Second

// ServerTools returns the tools of the MCP servers of a configuration, {"NAME": {"url": "...", "classes": {"TOOL":
// "read-only"}}}, as NAME.TOOL; "" has none. unclassed lists tools without a class, which are not offered. Each server
// must respond; reached describes the first way that worked. Each call opens a separate connection by that way.
func ServerTools(ctx context.Context, text string) (all []tools.Tool, unclassed []string, reached []Reached, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil, nil, nil
	}
	var servers map[string]server
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&servers); err != nil {
		return nil, nil, nil, fmt.Errorf(`it is no JSON object of MCP servers (%w); write {"tickets": {"url": "https://...", `+
			`"classes": {"lookup": "read-only"}}}, or "command": ["PROGRAM"] instead of "url", or "ways" of several`, err)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		one := servers[name]
		ways := one.Ways
		single := len(one.Command)+len(one.URL)+len(one.Env)+len(one.Headers) > 0
		if len(ways) == 0 {
			ways, single = []way{one.way}, false
		}
		if single || slices.ContainsFunc(ways, func(w way) bool { return (len(w.Command) == 0) == (w.URL == "") }) {
			errs = append(errs, fmt.Errorf("MCP server %q needs a command or a url, and not both; or ways, each with one",
				name))
			continue
		}
		how := Reached{Server: name}
		for i, tried := range ways {
			one.way, how.Way, how.Transport = tried, i+1, tried.kind()
			var found []tools.Tool
			var without []string
			if found, without, err = one.tools(ctx, name); err == nil {
				all, unclassed, reached = append(all, found...), append(unclassed, without...), append(reached, how)
				break
			}
			how.Failed = append(how.Failed, fmt.Sprintf("way %d (%s): %v", how.Way, how.Transport, err))
		}
		if err != nil && len(ways) > 1 {
			err = errors.New(strings.Join(how.Failed, "; "))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("MCP server %q: %w", name, err))
		}
	}
	return all, unclassed, reached, errors.Join(errs...)
}

// tools lists a server's tools.
func (s server) tools(ctx context.Context, name string) (all []tools.Tool, unclassed []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	session, end, err := s.connect(ctx, ".")
	if err != nil {
		return nil, nil, err
	}
	defer end()
	missing := maps.Clone(s.Classes)
	for listed, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, nil, err
		}
		class, has := s.Classes[listed.Name]
		delete(missing, listed.Name)
		if !has {
			unclassed = append(unclassed, name+"."+listed.Name)
			continue
		}
		input, err := json.Marshal(listed.InputSchema)
		if err != nil {
			return nil, nil, err
		}
		called := listed.Name
		all = append(all, tools.Tool{Name: name + "." + strings.ReplaceAll(strings.ToLower(called), "-", "_"),
			Description: listed.Description, Class: class, Input: input, Output: json.RawMessage(anything), Unheld: true,
			Timeout: time.Duration(s.Seconds) * time.Second,
			Run: func(ctx context.Context, job tools.Job) (json.RawMessage, error) {
				return s.call(ctx, called, job)
			}})
	}
	if len(missing) > 0 {
		return nil, nil, fmt.Errorf("it has no tool %s", strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
	}
	return all, unclassed, nil
}

// connect opens a connection; end closes it.
func (s way) connect(ctx context.Context, folder string) (session *mcp.ClientSession, end func(), err error) {
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: s.URL, MaxRetries: -1,
		HTTPClient: &http.Client{Transport: withHeaders(s.Headers)}}
	after := func() {}
	if len(s.Command) > 0 {
		process := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
		process.Dir, process.Env, process.WaitDelay = folder, environment(s.Env), endWait
		process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		process.Cancel = func() error { return syscall.Kill(-process.Process.Pid, syscall.SIGKILL) }
		transport = &mcp.CommandTransport{Command: process, TerminateDuration: endWait}
		after = func() {
			if process.Process != nil {
				_ = syscall.Kill(-process.Process.Pid, syscall.SIGKILL) // usually, no process is left
			}
		}
	}
	session, err = mcp.NewClient(&mcp.Implementation{Name: "harness", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		after()
		return nil, nil, fmt.Errorf("it does not answer: %w", err)
	}
	return session, func() {
		_ = session.Close() // the server has already responded
		after()
	}, nil
}

// call calls a tool of the server.
func (s server) call(ctx context.Context, tool string, job tools.Job) (json.RawMessage, error) {
	session, end, err := s.connect(ctx, job.Workspace)
	if err != nil {
		return nil, err
	}
	defer end()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: job.Input})
	if err != nil {
		return nil, err
	}
	var said strings.Builder
	for _, content := range result.Content {
		if text, is := content.(*mcp.TextContent); is {
			said.WriteString(text.Text)
		}
	}
	if result.IsError {
		return nil, tools.Failf("%s", said.String())
	}
	if structured, is := result.StructuredContent.(map[string]any); is {
		return json.Marshal(structured)
	}
	return json.Marshal(map[string]string{"output": said.String()})
}

type withHeaders map[string]string

// RoundTrip implements http.RoundTripper.
func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}
