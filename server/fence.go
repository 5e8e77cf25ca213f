package server

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"time"

	"harness/internal/lib/reach"
	"harness/internal/platform/database"
	"harness/internal/runtime/process"
	"harness/internal/runtime/process/confine"
	"harness/internal/runtime/process/doors"
	"harness/internal/runtime/process/shim"
	"harness/server/datadir"
)

// lookupLimit bounds the DNS lookup of a database's host.
const lookupLimit = 5 * time.Second

// fenceState reports whether the fence keeps this server's agents from the port for people. If it does, a connection
// from this machine cannot come from an agent.
type fenceState struct {
	stands bool
	// why is the reason why the fence is not effective, and the remedy; "" if it is effective.
	why string
}

// fencing is the state of the fence around agents (confine.Fence).
type fencing struct {
	*core
	// patterns are the folders of all servers that the fence may read, see doors.Folders.
	patterns []string
	release  func() error
	// others are the servers that were registered before this one. Their agents may have started earlier, so their
	// fence may not cover this server's port.
	others []doors.Other
	// missing is the reason why the fence is not effective while this server runs; unfenced are runtimes that started
	// before the fence.
	missing  string
	unfenced []shim.Found
}

// state returns whether the fence is effective now. It is known once the runtimes have started.
func (s *fencing) state() fenceState {
	if s.missing != "" {
		return fenceState{why: s.missing}
	}
	for _, f := range s.unfenced {
		runs := f.State.RuntimePID > 0 && process.Started(f.State.RuntimePID) == f.State.RuntimeStarted
		if runs || process.Started(f.State.PID) == f.State.Started {
			return fenceState{why: fmt.Sprintf("a %s that an earlier server started can connect to this one, until it ends (generation %s): "+
				"it does when this server is stopped without HARNESS_KEEP_RUNTIMES=true and started again", f.State.Runtime, f.Generation)}
		}
	}
	return fenceState{stands: true}
}

// Start registers the ports for clients and other nodes, so that servers on this machine keep their agents from them.
// The server starts even if that fails: then clients have to authenticate.
func (s *fencing) Start(context.Context) error {
	own, patterns := doors.Folders(os.Getenv)
	s.patterns, s.release = patterns, func() error { return nil }
	release, others, err := doors.Register(own, patterns, slices.DeleteFunc(s.ownPorts(), everybodys)...)
	if err != nil {
		s.missing = fmt.Sprintf("this server cannot register its port for others on this machine: %v", err)
		return nil
	}
	s.release, s.others = release, others
	return nil
}

// Stop removes the registration.
func (s *fencing) Stop(context.Context) error { return s.release() }

// ownPorts returns the ports of this server that are not for agents.
func (s *fencing) ownPorts() []uint16 {
	ports := []uint16{portOf(s.people.listener)}
	if s.nodePort != nil {
		ports = append(ports, portOf(s.nodePort.listener))
	}
	return ports
}

func portOf(listener net.Listener) uint16 {
	address, err := netip.ParseAddrPort(listener.Addr().String())
	if err != nil {
		return 0 // a port that does not accept connections
	}
	return address.Port()
}

// everybodys reports whether a port cannot be fenced. A fence applies to a port at all addresses, and agents reach
// their models and packages on this one.
func everybodys(port uint16) bool { return port == 80 || port == 443 }

// plan adds the fence to the plan of runtimes, if this machine supports it. It returns an error if the fence is
// required but not effective.
func (s *fencing) plan(ctx context.Context, into *confine.Plan) error {
	if err := confine.FenceSupported(); err != nil {
		s.missing = err.Error()
		return s.check()
	}
	own := s.ownPorts()
	if everybodys(own[0]) {
		s.missing = fmt.Sprintf("agents cannot be kept from port %d, at which they reach the rest of the world: set PORT to another "+
			"one, and have a proxy on this one", own[0])
	}
	local, err := localPorts(ctx, s.cfg.DatabaseURL)
	if err != nil {
		return err
	}
	ports := append(own, local...)
	// The fence contains the ports of known servers directly. If files cannot be protected, an agent may write to the
	// folder, but cannot open these ports.
	for _, other := range s.others {
		ports = append(ports, other.Port)
	}
	ports = slices.DeleteFunc(ports, everybodys)
	slices.Sort(ports)
	into.Fence = &confine.Fence{Ports: slices.Compact(ports), Doors: s.patterns}
	if err := s.findUnfenced(own[0]); err != nil {
		return err
	}
	return s.check()
}

// check logs why the fence is not effective. It returns an error if the fence is required.
func (s *fencing) check() error {
	state := s.state()
	switch {
	case state.stands:
		return nil
	case s.cfg.RuntimeConfine == "required":
		return fmt.Errorf("HARNESS_RUNTIME_CONFINE=required, but agents are not kept from this server's port: %s", state.why)
	}
	s.log.Warn().Str("reason", state.why).Msg("agents are not kept from this server's port")
	return nil
}

// findUnfenced finds the living runtimes of earlier servers that are not fenced from a port. The kernel keeps the fence
// that a runtime got when it started.
func (s *fencing) findUnfenced(port uint16) error {
	found, err := shim.Discover(s.shims.RunDir)
	if err != nil {
		return err
	}
	for _, f := range found {
		if !f.Alive {
			continue
		}
		// A runtime with an unreadable plan counts as not fenced.
		plan, err := f.Confined()
		if err != nil || plan.Fence == nil || !slices.Contains(plan.Fence.Ports, port) {
			s.unfenced = append(s.unfenced, f)
		}
	}
	return nil
}

// localPorts returns the ports of a database on this machine. Agents must not reach them: with a password that their
// user can read, they could open the database.
func localPorts(ctx context.Context, url string) (ports []uint16, err error) {
	addresses, err := database.Addresses(url)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	for _, address := range addresses {
		host, number, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		port, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return nil, err
		}
		found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		// A name that cannot be resolved now may belong to this machine.
		if err != nil || slices.ContainsFunc(found, func(ip netip.Addr) bool { return reach.Of(ip) == reach.Machine }) {
			ports = append(ports, uint16(port))
		}
	}
	return ports, nil
}

// protectPorts lets runtimes read, but not change, the folders where servers are registered.
func (s *fencing) protectPorts(plan *confine.Plan) error {
	folders, err := doors.Match(s.patterns)
	for _, folder := range folders {
		if path, err := datadir.RealPath(folder); err == nil {
			plan.Protect = append(plan.Protect, path)
		}
	}
	return err
}
