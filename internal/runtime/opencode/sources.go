package opencode

import (
	"path/filepath"

	"harness/internal/runtime"
	"harness/internal/runtime/sources"
)

var _ runtime.Sourcer = (*OpenCode)(nil)

// Sources implements runtime.Sourcer. OpenCode reads its home; reading of the folder is disabled (forced).
func (o *OpenCode) Sources(_, _, _ string) ([]runtime.Source, error) {
	var candidates []sources.Candidate
	for _, name := range []string{"config.json", "opencode.json", "opencode.jsonc", "AGENTS.md"} {
		path, err := o.homeFile("XDG_CONFIG_HOME", ".config", name)
		if err != nil {
			return nil, err
		}
		kind := runtime.SourceSettings
		if filepath.Ext(name) == ".md" {
			kind = runtime.SourceInstructions
		}
		candidates = append(candidates, sources.Candidate{Path: path, Kind: kind, Scope: runtime.SourceOfHome})
	}
	return sources.Files(candidates...), nil
}
