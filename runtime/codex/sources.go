package codex

import (
	"path/filepath"

	"harness/runtime"
	"harness/runtime/sources"
)

var _ runtime.Sourcer = (*Codex)(nil)

// Sources implements runtime.Sourcer: the configuration and the instructions of its home and, unless they are off, of
// the project that a folder is in.
func (c *Codex) Sources(_, cwd, implicit string) ([]runtime.Source, error) {
	home, err := homeOf(c.options.Home)
	if err != nil {
		return nil, err
	}
	var candidates []sources.Candidate
	add := func(folder, scope string, names ...string) {
		for _, name := range names {
			kind := runtime.SourceInstructions
			if filepath.Ext(name) == ".toml" {
				kind = runtime.SourceSettings
			}
			candidates = append(candidates, sources.Candidate{Path: filepath.Join(folder, filepath.FromSlash(name)), Kind: kind,
				Scope: scope})
		}
	}
	add("/etc/codex", runtime.SourceOfSystem, "config.toml", "managed_config.toml", "requirements.toml")
	add(home, runtime.SourceOfHome, "config.toml", "managed_config.toml", "AGENTS.override.md", "AGENTS.md")
	if implicit != runtime.ImplicitHome && filepath.IsAbs(cwd) {
		for _, folder := range sources.Upwards(cwd) {
			add(folder, runtime.SourceOfFolder, ".codex/config.toml", "AGENTS.override.md", "AGENTS.md")
		}
	}
	return sources.Files(candidates...), nil
}
