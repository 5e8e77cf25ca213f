package server

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"harness/internal/platform/auth"
	"harness/internal/services/notify"
)

// pushAccess is the access under which a browser subscribed to notifications. The holder identifies the access: a named
// token by its id, a signed one by its expiry, the owner's token by a value derived from its text. "local" and "remote"
// are all clients of a server that requires no token.
type pushAccess struct {
	*notify.Push
	access *access
	key    []byte
}

const (
	holderOwner  = "owner"
	holderLocal  = "local"
	holderRemote = "remote"
	holderToken  = "token:"
	holderSigned = "signed:"
)

// startPush makes the push notifier, unless HARNESS_NOTIFY_PUSH_SERVICES is none.
func (s *notifications) startPush(ctx context.Context) error {
	set := s.cfg.Notify
	if slices.Contains(set.PushServices, "none") {
		return nil
	}
	contact := "mailto:harness@localhost"
	if strings.HasPrefix(set.PublicURL, "https:") {
		contact = set.PublicURL
	}
	access := &pushAccess{access: s.access}
	push, err := notify.NewPush(ctx, notify.PushOptions{DB: s.db, Services: set.PushServices,
		Contact: contact, Allows: access.allows})
	if err != nil {
		return err
	}
	key, err := notify.Key(ctx, s.db, "push", rand.Text)
	if err != nil {
		return err
	}
	access.Push, access.key = push, []byte(key)
	s.push = access
	return nil
}

// Subscriber returns the principal of a request.
func (p *pushAccess) Subscriber(ctx context.Context) notify.Subscriber {
	principal, _ := auth.PrincipalFrom(ctx)
	who := notify.Subscriber{Holder: holderLocal, Projects: principal.Projects.IDs()}
	switch {
	case principal.TokenID != "":
		who.Holder = holderToken + principal.TokenID
	case principal.Signed || principal.Provider != "":
		name := sha256.Sum256([]byte(principal.Actor))
		who.Holder = holderSigned + base64.RawURLEncoding.EncodeToString(name[:])
		if end, ends := auth.AccessFrom(ctx).Deadline(); ends {
			who.Until = end.UnixMilli()
		}
	case principal.Role == auth.RoleOwner:
		who.Holder, who.Proof = holderOwner, p.ownersProof()
	case principal.Actor == holderRemote:
		who.Holder = holderRemote
	}
	return who
}

// ownersProof returns a value that changes when HARNESS_AUTH_TOKEN changes or the owner's token is renewed.
func (p *pushAccess) ownersProof() string {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(p.access.cfg.AuthToken + "\n" + p.access.owner.Fingerprint()))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:8])
}

// allows reports whether an access is still valid and covers the news.
func (p *pushAccess) allows(ctx context.Context, who notify.Subscriber, news notify.News) (counts, may bool, err error) {
	var limit *auth.Projects
	if who.Projects != nil {
		limit = auth.LimitTo(who.Projects...)
	}
	set := p.access.cfg
	switch id, named := strings.CutPrefix(who.Holder, holderToken); {
	case named:
		var holder auth.Principal
		holder, counts = p.access.holder(id)
		limit = holder.Projects
	case strings.HasPrefix(who.Holder, holderSigned):
		counts = who.Until == 0 || p.access.now().UnixMilli() < who.Until
	case who.Holder == holderOwner:
		counts = who.Proof == p.ownersProof()
	case who.Holder == holderLocal:
		needed, _ := p.access.localAccess()
		counts = !needed
	case who.Holder == holderRemote:
		counts = set.AuthToken == "" && set.InsecureNoAuth && !p.access.named().Any()
	}
	if !counts || limit == nil {
		return counts, counts, nil
	}
	projects, err := p.access.sessions.Reader.ProjectsOf(ctx, news.SessionID)
	return true, limit.Has(projects[news.SessionID]), err
}
