// Package mcphost offers the tools of this server to agents over MCP: as streamable HTTP with a bearer for each
// session, and over standard pipes (Bridge). It only translates: package tools decides whether and how a call runs.
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

// ServerName is the server's name for agents.
const ServerName = "harness"

// DefaultProgress is the interval of progress reports to an agent while its call is pending: some time out after a
// minute of silence.
const DefaultProgress = 15 * time.Second

// maxRequest bounds a request, which may contain a patch or a file in JSON.
const maxRequest = 32 << 20

// clientHeader distinguishes the clients of one bearer: each gets a value at initialization, and sends it with every
// later request. It proves nothing and is not stored, so it survives a restart of the server.
const clientHeader = "Mcp-Session-Id"

// versionHeader is the protocol version of a request. From version endsByClosing on, a client cancels a call by closing
// its request; a cancel notification names no client there.
const (
	versionHeader = "Mcp-Protocol-Version"
	endsByClosing = "2026-07-28"
)

// callHeader names the request of a call. A value from a client is dropped.
const callHeader = "X-Harness-Tool-Call"

// Session is the session data that a call needs.
type Session struct {
	// Workspace is its folder, TurnID the running turn, "" for none.
	Workspace, TurnID string
	// Epoch is as in tools.Call.
	Epoch  int64
	Policy tools.Policy
	// MaxCalls limits its open calls, 0 means one: a further call waits for a free slot, and is not recorded until
	// then.
	MaxCalls int
}

// Reads delays a response until the rows it was read from are as durable as an acknowledged write; *journal.Journal
// implements it.
type Reads interface {
	// Reading returns a context; Settled waits for reads with it.
	Reading(ctx context.Context) context.Context
	// Settled returns once rows read with the context may be shown; an error explains why they may not.
	Settled(ctx context.Context) error
}

// Options configure a Host. All but Progress and Version are required.
type Options struct {
	Executor *tools.Executor
	Grants   *Grants
	// Session looks up a session.
	Session  func(ctx context.Context, id string) (Session, error)
	Reads    Reads
	Progress time.Duration
	Version  string
	Logger   zerolog.Logger
}

// Host is the MCP endpoint: an http.Handler for one path.
type Host struct {
	opts Options
	mcp  http.Handler

	offering sync.Mutex
	offered  *mcp.Server
	set      any // Registry.Set when it was made

	places places

	mu    sync.Mutex
	next  int64
	calls map[string]*running
}

// running is a pending request for a call.
type running struct {
	ctx    context.Context //nolint:containedctx // who waits for the answer, which the protocol's own context does not say
	cancel context.CancelFunc
	// by combines the bearer, the client and the id of the request, which identify it for a cancellation.
	by string
}

// New makes a host.
func New(opts Options) *Host {
	opts.Progress = cmp.Or(opts.Progress, DefaultProgress)
	h := &Host{opts: opts, calls: map[string]*running{}}
	// Each request is self-contained: an agent continues with a restarted server, and needs no protocol session. The
	// guard before this handler checks access.
	h.mcp = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return h.server() },
		&mcp.StreamableHTTPOptions{Stateless: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: maxRequest})
	return h
}

// server offers the current tools.
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
	_ = json.Unmarshal(body, &message) // the protocol refuses an invalid message
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

// begin records a call while its response is pending.
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

// cancel ends the calls with this key. It does not distinguish clients without a clientHeader: it is safer not to run
// another call with the same id.
func (h *Host) cancel(by string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.calls {
		if one.by == by {
			one.cancel()
		}
	}
}

// waiting returns the context of the waiting caller; false if it has left.
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
