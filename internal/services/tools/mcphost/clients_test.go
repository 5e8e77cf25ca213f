package mcphost_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"harness/internal/services/session"
	"harness/tests/sessiontest"
)

// Two clients with one bearer send requests with the same id. One cancels: its call ends, and the other one's
// continues.
func TestCallsOfTwoClientsAreDistinct(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			sessiontest.Each(t, func(t *testing.T, base *sessiontest.Site) {
				s := newSite(t, base)
				s.most = 2
				s.takesOneBack(t, version)
			})
		})
	}
}

// takesOneBack makes calls from two clients, cancels one, and approves the other.
func (s *site) takesOneBack(t *testing.T, version string) {
	t.Helper()
	leaving, leave := context.WithCancel(t.Context())
	defer leave()
	answers := map[string]chan string{"stays": make(chan string, 1), "leaves": make(chan string, 1)}
	for name, answer := range answers {
		ctx := t.Context()
		if name == "leaves" {
			ctx = leaving
		}
		agent := s.clientOf(version, s.grants.Token(s.session), nil)
		go func() { answer <- said(agent.CallTool(ctx, write(name))) }()
	}
	var pending []session.Request
	waiting := func(count int) {
		t.Helper()
		s.Until(fmt.Sprint(count, " calls wait"), func(ctx context.Context) bool {
			var err error
			pending, err = s.Pending(ctx, s.session)
			return err == nil && len(pending) == count
		})
	}
	waiting(2)
	leave()
	<-answers["leaves"]
	waiting(1)
	if err := s.decide(pending[0], "accept", ""); err != nil {
		t.Fatal(err)
	}
	if got := <-answers["stays"]; !strings.HasPrefix(got, "false ") || !s.there("stays") || s.there("leaves") {
		t.Errorf("the client that stays is answered %s", got)
	}
}
