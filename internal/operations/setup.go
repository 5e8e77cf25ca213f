package operations

import (
	"context"
	"slices"

	"harness/internal/runtime"
)

// SetupState is what an agent needs before it can work.
type SetupState string

// The states of an agent.
const (
	SetupReady        SetupState = "ready"
	SetupSignIn       SetupState = "signIn"       // it has no login
	SetupNotInstalled SetupState = "notInstalled" // its program is not on this machine
	SetupUnavailable  SetupState = "unavailable"  // it does not start, or its operator disabled it
)

// AgentSetup is what one agent of the server needs.
type AgentSetup struct {
	Name    string
	Default bool
	State   SetupState
	Version string
	// Remedy says what to do; Command is the command that does it. Each is "" if unknown or not needed.
	Remedy, Command string
	// Logins are the ways to log in through this server.
	Logins []string
}

// AbsentAgent is an agent whose program is not on this machine.
type AbsentAgent struct {
	Name    string
	Install runtime.Install
}

// Setup returns what each agent needs, the default one first and absent ones last.
func (s *RuntimeAdmin) Setup(ctx context.Context) ([]AgentSetup, error) {
	known, err := s.Runtimes(ctx)
	if err != nil {
		return nil, err
	}
	var absent []AbsentAgent
	if s.absent != nil {
		absent = s.absent()
	}
	missing := func(name string) bool {
		return slices.ContainsFunc(absent, func(one AbsentAgent) bool { return one.Name == name })
	}
	var all []AgentSetup
	for _, one := range known {
		if !missing(one.Name) {
			all = append(all, setupOf(one))
		}
	}
	for _, one := range absent {
		all = append(all, AgentSetup{Name: one.Name, Default: one.Name == s.DefaultRuntime(), State: SetupNotInstalled,
			Command: one.Install.Command, Remedy: "Install it, or set " + one.Install.Setting + " to its program. Then restart the server."})
	}
	return all, nil
}

func setupOf(one Runtime) AgentSetup {
	setup := AgentSetup{Name: one.Name, Default: one.Default, State: SetupReady, Version: one.Status.Version, Logins: one.Logins}
	switch {
	case one.Offered == RuntimeDisabled || one.Status.State != runtime.StateReady:
		setup.State, setup.Remedy = SetupUnavailable, one.Status.Reason
	case one.Auth.State == runtime.AuthMissing:
		setup.State, setup.Remedy = SetupSignIn, one.Auth.Remedy
	}
	return setup
}
