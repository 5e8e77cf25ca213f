// Package mcphost offers the tools of this server to agents over MCP: as streamable HTTP with a bearer for each
// session, and over standard pipes (Bridge). It translates only: whether and how a call runs is decided by package
// tools.
package mcphost

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"harness/internal/services/tools"
)

// ServerName is what agents know the server by.
const ServerName = "harness"

// DefaultProgress is the interval of progress reports to an agent whose call waits: some give up after a
// minute of silence.
const DefaultProgress = 15 * time.Second

// maxRequest bounds a request: a patch or a file to write, in JSON.
const maxRequest = 32 << 20

// clientHeader distinguishes the clients of one bearer: each gets a value at initialization, and sends it
// with every request since. It proves nothing and is not stored, so that it outlives a restart of the server.
const clientHeader = "Mcp-Session-Id"

// versionHeader is the protocol version of a request. As of endsByClosing a client cancels a call by closing
// its request; a cancel notification names no client there.
const (
	versionHeader = "Mcp-Protocol-Version"
	endsByClosing = "2026-07-28"
)

// callHeader names the request that a call came with. A value from a client is dropped.
const callHeader = "X-Harness-Tool-Call"

// Session is what a call has to know of the session that it is made in.
type Session struct {
	// Workspace is its folder, TurnID the turn that runs, "" for none.
	Workspace, TurnID string
	// Epoch is as in tools.Call.
	Epoch  int64
	Policy tools.Policy
	// MaxCalls is how many calls of it may be open at once, 0 for one: a further one waits for its place, and nothing is
	// known of it until then.
	MaxCalls int
}

// Reads delays an answer until the rows it was read from are as durable as an acknowledged write;
// *journal.Journal implements it.
type Reads interface {
	// Reading is a context whose reads Settled waits for.
	Reading(ctx context.Context) context.Context
	// Settled returns when rows read with the context may be shown; an error says why not.
	Settled(ctx context.Context) error
}

// Options are the parts of a Host. All but Progress and Version are required.
type Options struct {
	Executor *tools.Executor
	Grants   *Grants
	// Session looks a session up.
	Session  func(ctx context.Context, id string) (Session, error)
	Reads    Reads
	Progress time.Duration
	Version  string
	Logger   zerolog.Logger
}

// Host is the door: an http.Handler for one path.
type Host struct {
	opts Options
	mcp  http.Handler

	offering sync.Mutex
	offered  *mcp.Server
	set      any // what the registry had when it was made

	places places

	mu    sync.Mutex
	next  int64
	calls map[string]*running
}

// running is a request for a call whose answer is waited for.
type running struct {
	ctx    context.Context //nolint:containedctx // who waits for the answer, which the protocol's own context does not say
	cancel context.CancelFunc
	// by is the bearer, the client and the id of the request, by which it can be cancelled.
	by string
}

// New makes a host.
func New(opts Options) *Host {
	opts.Progress = cmp.Or(opts.Progress, DefaultProgress)
	h := &Host{opts: opts, calls: map[string]*running{}}
	// Each request is complete in itself: an agent continues with a restarted server, and needs no session of
	// the protocol. The guard before this handler checks access.
	h.mcp = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return h.server() },
		&mcp.StreamableHTTPOptions{Stateless: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: maxRequest})
	return h
}

// server offers the tools there are now.
func (h *Host) server() *mcp.Server {
	h.offering.Lock()
	defer h.offering.Unlock()
	registry := h.opts.Executor.Registry()
	set := registry.Set()
	if h.offered != nil && h.set == set {
		return h.offered
	}
	server := mcp.NewServer(&mcp.Implementation{Name: ServerName, Version: cmp.Or(h.opts.Version, "dev")}, nil)
	for _, tool := range registry.Tools() {
		readOnly, destructive := tool.Class == tools.ReadOnly, tool.Class != tools.ReadOnly
		server.AddTool(&mcp.Tool{Name: tools.WireName(tool.Name), Description: tool.Description, InputSchema: tool.Input,
			OutputSchema: tool.Output, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly, DestructiveHint: &destructive}},
			h.call)
	}
	h.offered, h.set = server, set
	return server
}

// ServeHTTP implements http.Handler.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := bearer(r.Header)
	if _, _, ok := h.opts.Grants.genuine(token); !ok {
		w.Header().Set("WWW-Authenticate", `Bearer realm="harness tools"`)
		http.Error(w, "a session's bearer is required", http.StatusUnauthorized)
		return
	}
	r.Header.Del(callHeader)
	if r.Method != http.MethodPost {
		h.mcp.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, "the request is above its limit of "+strconv.Itoa(maxRequest)+" bytes, or broke off",
			http.StatusRequestEntityTooLarge)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &message) // what is no message is refused by the protocol
	by := token + " " + r.Header.Get(clientHeader) + " "
	switch message.Method {
	case "initialize":
		w.Header().Set(clientHeader, rand.Text())
	case "tools/call":
		number, done := h.begin(r.Context(), by+string(message.ID))
		defer done()
		r.Header.Set(callHeader, number)
	case "notifications/cancelled":
		if r.Header.Get(versionHeader) < endsByClosing {
			h.cancel(by + string(message.Params.RequestID))
		}
	}
	h.mcp.ServeHTTP(w, r)
}

func bearer(header http.Header) string {
	scheme, token, _ := strings.Cut(header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// begin notes a call as long as its answer is waited for.
func (h *Host) begin(ctx context.Context, by string) (number string, done func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	number = strconv.FormatInt(h.next, 10)
	ctx, cancel := context.WithCancel(ctx)
	h.calls[number] = &running{ctx, cancel, by}
	return number, func() {
		cancel()
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.calls, number)
	}
}

// cancel ends the calls that are known by this. Clients without a clientHeader are not distinguished: another
// call by the same id is better not run.
func (h *Host) cancel(by string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.calls {
		if one.by == by {
			one.cancel()
		}
	}
}

// waiting is the context of the caller that waits for an answer; false when there is none any more.
func (h *Host) waiting(number string) (context.Context, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.calls[number]
	if one == nil {
		return nil, false
	}
	return one.ctx, true
}

var errGone = errors.New("the caller is gone")
