package codex

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/sources"
)

var _ runtime.Sourcer = (*Codex)(nil)

// Sources implements runtime.Sourcer: the configuration and the instructions of codex's home and, unless disabled, of
// the folder's project.
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
	found := sources.Files(candidates...)
	if implicit == runtime.ImplicitHome {
		found = withoutTrust(found)
	}
	return found, nil
}

// withoutTrust omits the trusted folders from the hash of codex's own configuration. codex writes that list itself,
// and the session decides which files it may read.
func withoutTrust(found []runtime.Source) []runtime.Source {
	for i := range found {
		one := &found[i]
		if one.Scope != runtime.SourceOfHome || filepath.Base(one.Path) != "config.toml" || one.Reason != "" {
			continue
		}
		content, err := os.ReadFile(one.Path)
		if err != nil {
			continue // it was just removed: keep the earlier hash
		}
		kept, trust := []string{}, false
		for line := range strings.Lines(string(content)) {
			if header := strings.TrimSpace(line); strings.HasPrefix(header, "[") {
				trust = strings.HasPrefix(header, "[projects")
			}
			if !trust {
				kept = append(kept, line)
			}
		}
		if text := strings.TrimRight(strings.Join(kept, ""), "\n") + "\n"; text != string(content) {
			sum := sha256.Sum256([]byte(text))
			one.SHA256 = hex.EncodeToString(sum[:])
		}
	}
	return found
}
