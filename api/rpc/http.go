package rpc

import (
	"errors"
	"mime"
	"net/http"
	"strings"

	"harness/api/door"
	"harness/api/rest"
	"harness/api/rpc/wire"
	"harness/internal/lib/javascript"
)

// maxPost is the maximum length of a POST message, the same as on a socket.
const maxPost = 1 << 20

// Post serves POST /rpc: one message or batch without a socket.
func (s *Server) Post() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			writeJSON(w, http.StatusUnsupportedMediaType,
				wire.Failure(nil,
					&wire.Error{Code: wire.CodeInvalidRequest, Message: "Invalid request: the content type is not application/json"}))
			return
		}
		text, err := s.bodies.Read(r, maxPost)
		switch {
		case errors.Is(err, rest.ErrBodyTooLarge):
			writeJSON(w, http.StatusRequestEntityTooLarge,
				wire.Failure(nil,
					&wire.Error{Code: wire.CodeInvalidRequest, Message: "Invalid request: the message is longer than 1 MiB"}))
			return
		case err != nil:
			writeJSON(w, http.StatusBadRequest,
				wire.Failure(nil, &wire.Error{Code: wire.CodeParse, Message: "Parse error: the message could not be read"}))
			return
		}
		message := []byte(text)
		p := s.newPeer(r, nil)
		refused, wait, leave := s.desk.Enter(p.Caller)
		if refused != door.Accepted {
			writeReply(w, p.refuse(message, refusal(refused, wait)))
			return
		}
		defer leave()
		outcome := wire.Serve(p.Context, message, p.call)
		writeReply(w, outcome.Reply)
		outcome.After()
	})
}

func writeReply(w http.ResponseWriter, reply []byte) {
	if len(reply) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	writeJSON(w, http.StatusOK, reply)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the server cannot react to a client that disconnected
}

// Document serves GET /rpc/openrpc.json.
func (s *Server) Document() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document, err := s.document()
		if err != nil {
			http.Error(w, "the document cannot be made", http.StatusInternalServerError)
			return
		}
		writeJSON(w, http.StatusOK, javascript.MustEncode(document))
	})
}

// Upgrades admits only websocket handshakes to a handler; other requests get an explanation.
func Upgrades(sockets http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			w.Header().Set("Upgrade", "websocket")
			writeJSON(w, http.StatusUpgradeRequired,
				wire.Failure(nil,
					&wire.Error{Code: wire.CodeInvalidRequest, Message: "Invalid request: open a websocket here, or POST to /rpc"}))
			return
		}
		sockets.ServeHTTP(w, r)
	})
}
