package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"harness/api/calls"
	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/notify"
	"harness/internal/services/notify/decidelink"
	"harness/internal/services/session"
)

// startLinks creates the signer of decision links, if they are enabled.
func (s *notifications) startLinks(ctx context.Context) error {
	if !s.cfg.Notify.DecideLinks {
		return nil
	}
	key, err := notify.Key(ctx, s.db, "link", decidelink.NewKey)
	if err == nil {
		s.links, err = decidelink.NewSigner(key, s.now)
	}
	return err
}

// linkFor returns the decision link of a notification, "" for none.
func (s *notifications) linkFor(news notify.News) string {
	if s.links == nil || news.Kind != notify.ApprovalWaits {
		return ""
	}
	return s.cfg.Notify.PublicURL + s.links.PathOf(news.RequestID)
}

// isLink reports whether a link alone authorizes a request.
func (s *notifications) isLink(r *http.Request) bool {
	return s.links != nil && strings.HasPrefix(r.URL.Path, decidelink.Path) && r.Header.Get("Upgrade") == ""
}

// linkRoute returns the route of a link for the audit log, without its secret path.
func (s *notifications) linkRoute(r *http.Request) (calls.Route, bool) {
	return calls.Route{Protocol: "link", Name: r.Method + " " + decidelink.Path + "{link}"}, s.isLink(r)
}

// besideLinks serves links behind the common guard; next serves all other requests.
func (s *notifications) besideLinks(guard func(http.Handler) http.Handler, all *operations.Service,
	next http.Handler) http.Handler {
	if s.links == nil {
		return next
	}
	links := s.calls.recorded(guard, s.linkRoute, decidelink.NewHandler(s.links,
		linkApprovals{s.core, all}, s.log.With().Str("package", "decidelink").Logger()))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.isLink(r) {
			next.ServeHTTP(w, r)
			return
		}
		links.ServeHTTP(w, r)
	})
}

// linkApprovals implements approvals for links.
type linkApprovals struct {
	*core
	all *operations.Service
}

// Find implements decidelink.Approvals. An agent finds none: it must not decide its own requests.
func (l linkApprovals) Find(ctx context.Context, id string) (decidelink.Approval, error) {
	if principal, _ := auth.PrincipalFrom(ctx); principal.Role == auth.RoleAgent {
		return decidelink.Approval{}, decidelink.ErrGone
	}
	request, err := l.sessions.Reader.Request(ctx, id, runtime.RequestApproval)
	if errors.Is(err, session.ErrRequestNotFound) {
		return decidelink.Approval{}, decidelink.ErrGone
	}
	if err != nil {
		return decidelink.Approval{}, err
	}
	title, err := notify.Title(ctx, l.db, request.SessionID)
	if err != nil {
		return decidelink.Approval{}, err
	}
	found := decidelink.Approval{ID: id, Title: title, Summary: request.Summary, Settled: settledWords(request)}
	found.Shown, found.Whole = shownOf(request)
	return found, nil
}

// Decide implements decidelink.Approvals.
func (l linkApprovals) Decide(ctx context.Context, id string, accept bool) (settled string, err error) {
	decision := map[bool]string{true: "accept", false: "decline"}[accept]
	ctx = auth.WithPrincipal(ctx, auth.Principal{Actor: decidelink.Actor})
	_, err = l.all.DecideApproval(ctx, id, operations.ApprovalDecision{Decision: decision, Scope: "turn"}, decidelink.Actor)
	var before *session.SettledError
	if errors.As(err, &before) {
		return settledWords(before.Request), nil
	}
	return "", err
}

// settledWords describes how a request was settled, "" while it is pending.
func settledWords(r session.Request) string {
	switch {
	case r.Status == session.RequestPending:
		return ""
	case r.Reply == nil:
		return "It expired before anybody decided."
	}
	return fmt.Sprintf("%s said %s.", r.DecidedBy, r.Reply.Decision)
}

// shownOf returns the full content of a request as text. whole is false if only the session shows the change.
func shownOf(r session.Request) (text string, whole bool) {
	var out bytes.Buffer
	if err := json.Indent(&out, r.Params, "", "  "); err != nil {
		return "", false
	}
	if r.Method != wire.MethodApproveFileChange {
		return out.String(), r.Asked.Arguments != nil
	}
	paths, _ := wire.ChangedFiles(r.Params)
	return out.String(), len(paths) > 0
}
