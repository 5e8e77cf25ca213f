package server

import (
	"fmt"
	"os"

	"harness/internal/runtime"
	"harness/internal/runtime/acp"
	"harness/internal/runtime/opencode"
)

func newOpenCode(s *runtimes, confined Confinement) (runtime.Adapter, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program to start OpenCode with: %w", err)
	}
	setup, err := s.setupWithHome(opencode.Name, confined)
	if err != nil {
		return nil, err
	}
	return opencode.New(opencode.Options{Setup: setup, Bin: s.cfg.OpenCodeBin, Bridge: []string{own, BridgeCommand},
		Dir: SessionFolder(s.cfg, s.workspace)}), nil
}

// BridgeCommand is the subcommand of this program that runs beside OpenCode.
const BridgeCommand = "opencode-bridge"

// acpMaker makes the adapter for an agent of the Agent Client Protocol.
func acpMaker(profile acp.Profile) RuntimeMaker {
	return RuntimeMaker{name: profile.Name, unfit: oneForAll(profile.Name), preview: profile.Preview,
		make: func(s *runtimes, confined Confinement) (runtime.Adapter, error) {
			setup, err := s.setupWithHome(profile.Name, confined, profile.Families...)
			if err != nil {
				return nil, err
			}
			bin := map[string]string{"GEMINI_BIN": s.cfg.GeminiBin, "OPENCODE_BIN": s.cfg.OpenCodeBin}[profile.Setting]
			return acp.New(acp.Options{Profile: profile, Bin: bin, Setup: setup}), nil
		}}
}
