package main

import "runtime"

// fenceState tells whether runtimes are kept from connecting to this server, and if not, why.
type fenceState struct {
	stands bool
	why    string
}

// fence guesses by the configuration.
func (s *Server) fence() fenceState {
	switch {
	case s.cfg.RuntimeConfine == "off":
		return fenceState{why: "HARNESS_RUNTIME_CONFINE=off lets agents connect to this server"}
	case runtime.GOOS != "linux":
		return fenceState{why: "agents cannot be kept from connecting to this server on " + runtime.GOOS}
	}
	return fenceState{stands: true}
}
