package claude

import (
	"path/filepath"
	goruntime "runtime"

	"harness/internal/runtime"
	"harness/internal/runtime/sources"
)

var _ runtime.Sourcer = (*Runtime)(nil)

// Sources implements runtime.Sourcer. Without a request, Claude Code reads only the administrator's files; see
// controls.arguments.
func (r *Runtime) Sources(_, _, _ string) ([]runtime.Source, error) {
	folder := "/etc/claude-code"
	if goruntime.GOOS == "darwin" {
		folder = "/Library/Application Support/ClaudeCode"
	}
	var candidates []sources.Candidate
	for _, name := range []string{"CLAUDE.md", "managed-mcp.json", "managed-settings.json"} {
		kind := runtime.SourceSettings
		if name == "CLAUDE.md" {
			kind = runtime.SourceInstructions
		}
		candidates = append(candidates, sources.Candidate{Path: filepath.Join(folder, name), Kind: kind,
			Scope: runtime.SourceOfSystem})
	}
	return sources.Files(candidates...), nil
}
