package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"harness/extensions"
	"harness/tests/extensionstest"
)

// Without consent no child starts: neither the first one nor the replacement of a broken one. With renewed consent, it
// starts.
func TestNoChildWithoutConsent(t *testing.T) {
	t.Parallel()
	site := newSite(t, nil)
	mark := filepath.Join(t.TempDir(), "mark")
	source := shellSource(t, "echo x >>"+mark+"\nread -r load\n"+ready+"read -r first\nexit 3\n")
	refused := &extensions.LoadError{Extension: "@test/probe", Code: extensions.TrustDenied, Message: "no consent was given"}
	var denied atomic.Bool
	asked := make(chan []string, 64)
	source.Consent = func(further []string) error {
		asked <- further
		if denied.Load() {
			return refused
		}
		return nil
	}
	starts := func() int {
		text, err := os.ReadFile(mark)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.Count(string(text), "x")
	}
	denied.Store(true)
	var problem *extensions.LoadError
	if _, err := site.Load(t.Context(), source); !errors.As(err, &problem) || problem.Code != extensions.TrustDenied ||
		starts() != 0 {
		t.Errorf("%v, %d starts", err, starts())
	}
	if further := <-asked; !slices.Equal(further, []string{filepath.Join(source.Root, "events.sh")}) {
		t.Errorf("asked about %q", further)
	}
	denied.Store(false)
	module := extensionstest.Load(t, site, source)
	<-asked
	denied.Store(true)
	if _, err := extensionstest.Handle(t, module, 0, &extensionstest.Tools{}); err == nil {
		t.Error("a child that ended answered")
	}
	// Send two events: after the second, the first refusal is over.
	for range 2 {
		select {
		case <-asked:
		case <-time.After(extensionstest.Patience):
			t.Fatal("the restart did not ask for consent")
		}
	}
	if health := module.Health(); starts() != 1 || health.State != extensions.HealthRestarting ||
		!strings.Contains(health.LastError, "no consent was given") {
		t.Errorf("%d starts, %+v", starts(), health)
	}
}
