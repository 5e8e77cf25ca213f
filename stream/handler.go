package stream

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// HandlerOptions configure the websocket route. Zero fields take the defaults given in parentheses.
type HandlerOptions struct {
	// OriginAllowed checks the request's Origin before the upgrade; nil allows every request.
	OriginAllowed func(*http.Request) bool
	// Access, when set, returns a context that ends when the caller loses access. The socket is then closed with 1008,
	// in other protocols, too.
	Access func(*http.Request) context.Context
	// Reach, when set, returns the projects the caller is limited to, nil for no limit; the hub needs
	// Options.ProjectOf for that. It applies to other protocols, too.
	Reach func(*http.Request) Reach
	// ReadLimit bounds a client's message in bytes (1 MiB); a longer message closes the socket with 1009.
	ReadLimit int64
	// Stall is how long a client may accept no bytes before it is closed with 4008 (10 s).
	Stall time.Duration
	// MaxConnections bounds open connections (503 beyond), MaxPerAddress those of one client address (429). 0: no bound.
	MaxConnections, MaxPerAddress int
	// Rate bounds a client's frames per second, Burst the frames at once (200, 1,000); every 4 KiB count as one more. A
	// client that exceeds them is closed with 1008.
	Rate, Burst int
	// MessageTimeout bounds the time from a message's first byte to its last (10 s); then the close code is 1008.
	MessageTimeout time.Duration
	// CloseTimeout bounds the wait for the peer's close frame and the rest of its message (5 s, also the maximum).
	CloseTimeout time.Duration
}

// Handler serves GET /api/stream.
type Handler struct {
	hub       *Hub
	opts      HandlerOptions
	limits    *intakeLimits
	memory    *vectors
	admission *admission
	large     *budget
	protocol  Protocol // nil: the stream's own
}

// NewHandler makes the websocket route of a hub.
func NewHandler(hub *Hub, opts HandlerOptions) *Handler {
	if opts.ReadLimit <= 0 {
		opts.ReadLimit = 1 << 20
	}
	opts.Stall = positive(opts.Stall, 10*time.Second)
	opts.Rate = positive(opts.Rate, 200)
	opts.Burst = positive(opts.Burst, 1000)
	opts.MessageTimeout = positive(opts.MessageTimeout, 10*time.Second)
	opts.CloseTimeout = min(positive(opts.CloseTimeout, libraryCloseWait), libraryCloseWait)
	return &Handler{
		hub: hub, opts: opts, memory: newVectors(), admission: newAdmission(opts.MaxConnections, opts.MaxPerAddress),
		large: &budget{},
		limits: &intakeLimits{
			rate: float64(opts.Rate), burst: float64(opts.Burst), largest: uint64(opts.ReadLimit), patience: opts.MessageTimeout,
			closeWait: opts.CloseTimeout,
		},
	}
}

// invalidCommand is the answer to a message that is not a command.
const invalidCommand = `{"type":"error","message":"invalid websocket command"}`

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !isUpgrade(r) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if problem := handshakeProblem(r); problem != "" {
		refuseHandshake(w, problem)
		return
	}
	if h.opts.OriginAllowed != nil && !h.opts.OriginAllowed(r) {
		h.hub.opts.Metrics.Refused("origin")
		refuse(w, http.StatusForbidden, "origin_not_allowed",
			"this origin may not open the stream; add it to the allowed origins")
		return
	}
	if !h.hub.isOpen() {
		refuse(w, http.StatusServiceUnavailable, "stopping", "the server is starting or stopping; connect again in a moment")
		return
	}
	leave, refused := h.admission.enter(r.RemoteAddr)
	if refused != nil {
		h.hub.opts.Metrics.Refused(refused.reason)
		refused.answer(w)
		return
	}
	followed := false
	defer func() {
		if !followed {
			leave()
		}
	}()
	if h.protocol != nil {
		followed = h.serveProtocol(w, r, leave)
	} else if named, problem := viewOf(r.URL.Query()); problem != "" {
		refuse(w, http.StatusBadRequest, "invalid_request", problem)
	} else if at, ok := h.resumeAt(w, r); ok {
		followed = h.serve(w, r, named, at, leave)
	}
}

// resumeAt checks the cursor of a handshake, and returns nil if it has none. It answers a bad one with an error.
func (h *Handler) resumeAt(w http.ResponseWriter, r *http.Request) (at *resumeStatus, ok bool) {
	values, resumes := r.URL.Query()["after"]
	if !resumes {
		return nil, true
	}
	var from cursor
	if len(values) == 1 {
		from, ok = parseCursor(values[0])
	}
	if !ok {
		refuse(w, http.StatusBadRequest, "invalid_request", "after must be one non-negative integer or latest")
		return nil, false
	}
	status, err := h.hub.compare(r.Context(), from)
	if err != nil {
		h.hub.opts.Logger.Error().Err(err).Msg("cannot resume a stream")
		refuse(w, http.StatusServiceUnavailable, "journal_unavailable",
			"the event log cannot be read; connect again in a moment")
		return nil, false
	}
	return &status, true
}

// accept does the handshake; it returns nil on failure.
func (h *Handler) accept(w http.ResponseWriter, r *http.Request) *websocketConn {
	wrapped := &hijacker{ResponseWriter: w, stall: h.opts.Stall, memory: h.memory, limits: h.limits}
	ws, err := websocket.Accept(wrapped, r, &websocket.AcceptOptions{
		Subprotocols: firstSubprotocol(r),
		// Checked above: the library supports only host patterns.
		InsecureSkipVerify: true,
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		h.hub.opts.Logger.Debug().Err(err).Msg("websocket handshake failed")
		return nil
	}
	ws.SetReadLimit(h.opts.ReadLimit)
	return &websocketConn{ws: ws, socket: wrapped.socket}
}

// serve opens the connection and reports whether it succeeded; leave is then called at the connection's end. named
// comes from viewOf.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, named []string, at *resumeStatus, leave func()) bool {
	conn := h.accept(w, r)
	if conn == nil {
		return false
	}
	filter, reach := threadOf(r.URL.Query()), h.reach(r)
	choose := func() audience { return h.hub.byThread(filter, reach) }
	if named != nil {
		filter, choose = "", func() audience { return h.hub.naming(named, reach) }
	}
	ready := newMessage(64, func(dst []byte) []byte {
		dst = appendNullable(append(dst, `{"type":"ready","threadId":`...), filter)
		return append(dst, '}')
	})
	client, err := h.hub.attachTo(conn, choose, ready, at, reach)
	if err != nil {
		conn.Close(closeRestart, "service restart")
		return false
	}
	h.endWithAccess(client, r)
	// A separate goroutine, which the hub waits for: when the handler returns, net/http's 20 KiB per connection are
	// freed.
	go func() {
		defer leave()
		if named != nil {
			h.follow(client, conn, consoleListener{client})
		} else {
			h.follow(client, conn, ownListener{h, client})
		}
	}()
	return true
}

// reach returns the project limit of the caller, nil for none.
func (h *Handler) reach(r *http.Request) Reach {
	if h.opts.Reach == nil {
		return nil
	}
	return h.opts.Reach(r)
}

// withdrawn is the reason for closing a socket whose token was revoked, has expired or has another role.
const withdrawn = "access was withdrawn"

// endWithAccess closes a client once its caller has lost access, which may have happened already.
func (h *Handler) endWithAccess(client *client, r *http.Request) {
	if h.opts.Access == nil {
		return
	}
	if access := h.opts.Access(r); access.Done() != nil {
		stop := context.AfterFunc(access, func() {
			h.hub.opts.Metrics.Closed("withdrawn")
			client.end(closePolicy, withdrawn)
		})
		context.AfterFunc(client.ctx, func() { stop() })
	}
}

// follow serves a connection until it ends.
func (h *Handler) follow(client *client, conn *websocketConn, listener Listener) {
	defer h.hub.detach(client)
	// ready is a client's first message, even if the client sends, fails or closes before reading it.
	select {
	case <-client.greeted:
	case <-client.done:
	}
	client.end(h.read(client, conn, listener))
}

// read passes messages to the listener until the connection fails or breaks a rule, and returns the close code.
func (h *Handler) read(client *client, conn *websocketConn, listener Listener) (code int, reason string) {
	var earlier int64 // bytes of earlier messages
	for {
		// Without a context: the hub ends the connection itself, and a deadline per message would cost more than the
		// message.
		kind, reader, err := conn.ws.Reader(context.Background())
		if err != nil {
			return h.owed(err)
		}
		var data []byte
		message := h.large.meter(reader)
		if kind == websocket.MessageText {
			data, err = readText(message, func() int64 { return conn.socket.inbound.payload.Load() - earlier - message.read })
		} else {
			data, err = io.ReadAll(message)
		}
		message.release()
		earlier += message.read
		if err != nil {
			return h.owed(err)
		}
		listener.OnMessage(data)
	}
}

// ownListener executes the commands of the stream.
type ownListener struct {
	handler *Handler
	client  *client
}

// OnMessage implements Listener.
func (l ownListener) OnMessage(data []byte) {
	if len(data) == 0 {
		return
	}
	asked := parseCommand(data)
	switch {
	case asked.kind == commandPing:
		l.client.answer(textMessage(`{"type":"pong"}`))
	case asked.kind == commandUnsubscribe:
		l.client.setFilter("")
	case asked.kind == commandSubscribe && asked.cursor == nil:
		l.client.setFilter(asked.filter)
	case asked.kind == commandSubscribe:
		at, err := l.handler.hub.compare(l.client.ctx, *asked.cursor)
		if err != nil {
			l.client.answer(textMessage(`{"type":"error","message":"journal unavailable"}`))
			return
		}
		l.client.resume(asked.filter, at)
	default:
		l.client.answer(textMessage(invalidCommand))
	}
}

// owed returns the close frame for a peer after a failed read.
func (h *Handler) owed(err error) (code int, reason string) {
	code, reason, label := readFailure(err)
	if label != "" {
		h.hub.opts.Metrics.Closed(label)
	}
	return code, reason
}

// threadOf returns the initial filter: one non-empty threadId.
func threadOf(query url.Values) string {
	if values := query["threadId"]; len(values) == 1 {
		return values[0]
	}
	return ""
}

func isUpgrade(r *http.Request) bool {
	return r.Header.Get("Upgrade") != "" && hasToken(r.Header.Values("Connection"), "upgrade")
}

// handshakeProblem returns the original's error text for a bad handshake, "" for a good one.
func handshakeProblem(r *http.Request) string {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return "Invalid Upgrade header"
	}
	if key, err := base64.StdEncoding.DecodeString(r.Header.Get("Sec-WebSocket-Key")); err != nil || len(key) != 16 {
		return "Missing or invalid Sec-WebSocket-Key header"
	}
	if r.Header.Get("Sec-WebSocket-Version") != "13" {
		return "Missing or invalid Sec-WebSocket-Version header"
	}
	return ""
}

func refuseHandshake(w http.ResponseWriter, problem string) {
	header := w.Header()
	header.Set("Connection", "close")
	header.Set("Content-Type", "text/html")
	if strings.Contains(problem, "Version") {
		// The original also offers version 8; this server accepts 13 only.
		header.Set("Sec-WebSocket-Version", "13, 8")
	}
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, problem)
}

// refuse answers before the upgrade in the error envelope of the REST routes.
func refuse(w http.ResponseWriter, status int, code, message string) {
	body := append([]byte(nil), `{"status":"error","code":`...)
	body = appendString(body, code)
	body = appendMember(body, "message")
	body = append(appendString(body, message), '}')
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// firstSubprotocol returns the first subprotocol that the client offers; the server echoes it, whatever it is.
func firstSubprotocol(r *http.Request) []string {
	first, _, _ := strings.Cut(r.Header.Get("Sec-WebSocket-Protocol"), ",")
	if first = strings.TrimSpace(first); first == "" {
		return nil
	}
	return []string{first}
}

func hasToken(values []string, token string) bool {
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}
