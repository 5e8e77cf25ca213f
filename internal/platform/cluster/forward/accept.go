package forward

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/auth"
	"harness/internal/platform/cluster"
	"harness/internal/platform/database"
	"harness/internal/platform/telemetry"
)

const (
	// whoHeader carries the signature, refusedHeader the reason of a refused request.
	whoHeader     = "Harness-Forwarded"
	refusedHeader = "Harness-Refused"
	// maxBody is the maximum accepted body size in bytes; clients have no higher limit.
	maxBody = 16 << 20
	// handshake bounds the handshake of a connection, on either side.
	handshake = 3 * time.Second
)

// Acceptor accepts requests from other nodes.
type Acceptor struct {
	Identity *Identity
	DB       *database.DB
	Logger   zerolog.Logger
}

// Server makes the server of the node port. It speaks only HTTP/2, and only with nodes whose lease has not expired.
func (a *Acceptor) Server(handler http.Handler) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP2(true)
	settings := a.Identity.config(func(*x509.Certificate) error { return errors.New("no check was made") })
	settings.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		return a.Identity.config(func(shown *x509.Certificate) error { return a.known(hello.Context(), shown) }), nil
	}
	return &http.Server{Handler: handler, TLSConfig: settings, Protocols: protocols, ReadHeaderTimeout: handshake,
		ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(a.Logger.With().Str("level", zerolog.LevelWarnValue).Logger(), "node port: ", 0)}
}

// known refuses, during the handshake, a peer that is not a node.
func (a *Acceptor) known(ctx context.Context, shown *x509.Certificate) error {
	ctx, cancel := context.WithTimeout(ctx, handshake)
	defer cancel()
	is, err := cluster.Shows(ctx, a.DB, fingerprint(shown))
	if err == nil && !is {
		err = errors.New("no node whose lease lasts shows this certificate")
	}
	return err
}

// Guard passes requests on with the principal that the other node authenticated; it answers all others with 403. A
// request of an agent also needs the check of its session (CameFrom).
func (a *Acceptor) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, from, body, err := a.principal(w, r)
		if err != nil {
			telemetry.Log(r.Context()).Warn().Err(err).Msg("refused a request of another node")
			refuse(w, err)
			return
		}
		r = r.WithContext(context.WithValue(auth.WithPrincipal(r.Context(), who), cameKey{}, from))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		next.ServeHTTP(w, r)
	})
}

// principal returns the principal on whose behalf a node sends the request.
func (a *Acceptor) principal(w http.ResponseWriter, r *http.Request) (who auth.Principal, from From, body []byte, err error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return who, from, nil, errors.New("no certificate was shown")
	}
	shown, signatures := r.TLS.PeerCertificates[0], r.Header.Values(whoHeader)
	if len(signatures) != 1 {
		return who, from, nil, fmt.Errorf("there must be one %s, not %d", whoHeader, len(signatures))
	}
	said, err := read(signatures[0], shown.PublicKey)
	if err != nil {
		return who, from, nil, err
	}
	peer, err := cluster.FindPeer(r.Context(), a.DB, said.Issuer)
	switch {
	case err != nil:
		return who, from, nil, fmt.Errorf("node %q: %w", said.Issuer, err)
	case peer.Certificate != fingerprint(shown):
		return who, from, nil, fmt.Errorf("the certificate shown is not that of node %s", peer.NodeID)
	case peer.Lease <= 0:
		return who, from, nil, fmt.Errorf("the lease of node %s is over", peer.NodeID)
	}
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return who, from, nil, fmt.Errorf("read the body: %w", err)
	}
	who, err = said.check(ask{from: peer.NodeID, to: a.Identity.NodeID, method: r.Method, uri: r.RequestURI, body: body,
		now: peer.Now})
	return who, From{peer.NodeID, said.Agent}, body, err
}

func refuse(w http.ResponseWriter, why error) {
	body, err := json.Marshal(map[string]string{"status": "error", "code": "forward_refused", "message": why.Error()})
	if err != nil { // strings can always be marshaled
		body = nil
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set(refusedHeader, "1")
	w.WriteHeader(http.StatusForbidden)
	_, _ = w.Write(body) // the node may have disconnected
}
