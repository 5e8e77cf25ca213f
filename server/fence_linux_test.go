package server

import (
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"harness/internal/platform/config"
	"harness/internal/runtime/process/confine"
	"harness/internal/runtime/process/shim"
)

// listening is a listener that only provides an address.
type listening struct {
	net.Listener
	at string
}

func (l listening) Addr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(l.at)) }

// fencingServer makes a server that has its port and registers it in a folder.
func fencingServer(t *testing.T, cfg config.Config, folder, at string) *fencing {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", folder)
	s := &fencing{core: &core{cfg: &cfg, log: zerolog.Nop(), people: httpPort{listener: listening{at: at}},
		shims: &shim.Host{RunDir: filepath.Join(folder, "run")}}}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestWhichPortsAgentsAreKeptFrom(t *testing.T) {
	folder := t.TempDir()
	s := fencingServer(t, config.Config{DatabaseURL: "postgres://u@192.0.2.1:6001,127.0.0.1:6002,localhost:443,[::1]:6003/x?sslmode=disable"},
		folder, "127.0.0.1:3001")
	s.nodePort = &nodePort{listener: listening{at: "192.0.2.7:3002"}}
	var plan confine.Plan
	if err := s.plan(t.Context(), &plan); err != nil {
		t.Fatal(err)
	}
	if !s.state().stands || !slices.Equal(plan.Fence.Ports, []uint16{3001, 3002, 6002, 6003}) ||
		!slices.Contains(plan.Fence.Doors, filepath.Join(folder, "harness")) {
		t.Errorf("%+v: %+v", s.state(), plan.Fence)
	}
	// The later server knows the earlier one, and does not depend on the folder for it.
	later := fencingServer(t, config.Config{}, folder, "127.0.0.1:3003")
	if err := later.plan(t.Context(), &plan); err != nil {
		t.Fatal(err)
	}
	if !later.state().stands || len(later.others) != 1 || later.others[0].Port != 3001 ||
		!slices.Equal(plan.Fence.Ports, []uint16{3001, 3003}) {
		t.Errorf("%+v: %+v", later, plan.Fence)
	}
	if err := s.protectPorts(&plan); err != nil || !slices.ContainsFunc(plan.Protect, func(path string) bool {
		return strings.HasSuffix(path, filepath.Base(folder)+"/harness")
	}) {
		t.Errorf("protected are %v, %v", plan.Protect, err)
	}
}

// A server reports a port that cannot be fenced or registered. If the fence is required, the server does not start.
func TestAFenceThatDoesNotStand(t *testing.T) {
	for says, place := range map[string]struct{ folder, at string }{
		"set PORT to another":      {t.TempDir(), "127.0.0.1:443"},
		"cannot register its port": {filepath.Join(t.TempDir(), "missing"), "127.0.0.1:3001"},
	} {
		for _, mode := range []string{"auto", "required"} {
			s := fencingServer(t, config.Config{RuntimeConfine: mode}, place.folder, place.at)
			var plan confine.Plan
			err := s.plan(t.Context(), &plan)
			if state := s.state(); state.stands || !strings.Contains(state.why, says) {
				t.Errorf("%s: %+v", says, state)
			}
			if required := err != nil && strings.Contains(err.Error(), says); required != (mode == "required") {
				t.Errorf("%s, %s: %v", says, mode, err)
			}
			if plan.Fence == nil || slices.Contains(plan.Fence.Ports, 443) {
				t.Errorf("%s: the fence is %+v", says, plan.Fence)
			}
		}
	}
}
