package main

import (
	"harness/internal/runtime"
	"harness/internal/runtime/acp"
)

// acpMaker makes the adapter of an agent of the Agent Client Protocol.
func acpMaker(profile acp.Profile) runtimeMaker {
	return runtimeMaker{name: profile.Name, unfit: oneForAll(profile.Name), preview: profile.Preview,
		make: func(s *Server, confined confinement) (runtime.Adapter, error) {
			setup, err := s.setupWithHome(profile.Name, confined, profile.Families...)
			if err != nil {
				return nil, err
			}
			bin := map[string]string{"GEMINI_BIN": s.cfg.GeminiBin, "OPENCODE_BIN": s.cfg.OpenCodeBin}[profile.Setting]
			return acp.New(acp.Options{Profile: profile, Bin: bin, Setup: setup}), nil
		}}
}
