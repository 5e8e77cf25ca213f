package main

import (
	"fmt"

	"harness/runtime"
	"harness/runtime/acp"
	"harness/runtime/environment"
)

// acpMaker makes the adapter of an agent of the Agent Client Protocol.
func acpMaker(profile acp.Profile) runtimeMaker {
	return runtimeMaker{profile.Name, func(s *Server, confined confinement) (runtime.Adapter, error) {
		if environment.Level(s.cfg.CredentialLevel(profile.Name)) == environment.LevelEphemeral {
			return nil, &usageError{fmt.Errorf("HARNESS_RUNTIME_CREDENTIALS: %s has one process for all sessions, whose credentials cannot be each "+
				"session's own; add %s=namespaced", profile.Name, profile.Name)}
		}
		setup, err := s.setupWithHome(profile.Name, confined, profile.Families...)
		if err != nil {
			return nil, err
		}
		bin := map[string]string{"GEMINI_BIN": s.cfg.GeminiBin, "OPENCODE_BIN": s.cfg.OpenCodeBin}[profile.Setting]
		return acp.New(acp.Options{Profile: profile, Bin: bin, Setup: setup}), nil
	}}
}
