package door

import (
	"cmp"
	"context"
	"net"
	"net/http"

	"github.com/google/uuid"

	"harness/internal/platform/auth"
	"harness/stream"
)

// Caller is who sends messages: a socket, or a single request without one.
type Caller struct {
	ID        string
	Principal auth.Principal
	// Context ends with the socket, or is the request's.
	Context context.Context
	// Socket is nil for a request without one.
	Socket  *stream.Socket
	rateKey string
	places  chan struct{} // one per message in progress, nil for a request without a socket
}

// NewCaller describes the sender of a request. values, if not nil, adds values to the context of its calls.
func NewCaller(r *http.Request, socket *stream.Socket, values func(context.Context) context.Context) *Caller {
	principal, _ := auth.PrincipalFrom(r.Context())
	c := &Caller{ID: uuid.NewString(), Principal: principal, Socket: socket, Context: r.Context()}
	if values != nil {
		c.Context = values(c.Context)
	}
	c.rateKey = "caller " + principal.Actor
	if !principal.Named() {
		c.rateKey = "connection " + c.ID
		if socket == nil {
			host, _, _ := net.SplitHostPort(r.RemoteAddr)
			c.rateKey = "address " + cmp.Or(host, r.RemoteAddr)
		}
	}
	if socket != nil {
		// The request ends with the handshake; its values are still needed.
		ctx, cancel := context.WithCancel(context.WithoutCancel(c.Context))
		context.AfterFunc(socket.Context(), cancel)
		c.Context, c.places = ctx, make(chan struct{}, maxInFlight)
	}
	return c
}

// Actor is the caller's name, for the record of decisions.
func (c *Caller) Actor() string { return cmp.Or(c.Principal.Actor, "local") }

// Send sends a text message after all events committed before it.
func (c *Caller) Send(text []byte) {
	if len(text) > 0 {
		c.Socket.Send(stream.NewMessage(len(text), func(dst []byte) []byte { return append(dst, text...) }))
	}
}
