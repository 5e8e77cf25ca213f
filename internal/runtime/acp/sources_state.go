package acp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"harness/internal/runtime"
)

// stateOfClaude is the file with Claude Code's own state, including settings.
const stateOfClaude = ".claude.json"

// claudeSettings are the settings in that file; its other members change with every run.
type claudeSettings struct {
	Servers  json.RawMessage            `json:"mcpServers,omitempty"`
	Projects map[string]projectSettings `json:"projects,omitempty"`
}

type projectSettings struct {
	Servers  json.RawMessage `json:"mcpServers,omitempty"`
	Allowed  json.RawMessage `json:"allowedTools,omitempty"`
	Enabled  json.RawMessage `json:"enabledMcpjsonServers,omitempty"`
	Disabled json.RawMessage `json:"disabledMcpjsonServers,omitempty"`
}

// settingsOfState replaces the hash of Claude Code's state by that of a folder's settings in it. A state without
// settings is not a source.
func settingsOfState(found []runtime.Source, cwd string) []runtime.Source {
	kept := found[:0]
	for _, one := range found {
		if filepath.Base(one.Path) == stateOfClaude && one.Scope == runtime.SourceOfHome && one.Reason == "" {
			settings := readClaudeSettings(one.Path, cwd)
			if settings == "" {
				continue
			}
			sum := sha256.Sum256([]byte(settings))
			one.Bytes, one.SHA256 = int64(len(settings)), hex.EncodeToString(sum[:])
		}
		kept = append(kept, one)
	}
	return kept
}

// readClaudeSettings returns the settings for a folder as JSON, "" for none. It returns a whole file that is not
// valid JSON, perhaps because Claude Code is writing it.
func readClaudeSettings(path, cwd string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return "" // it was just removed
	}
	var state claudeSettings
	if json.Unmarshal(content, &state) != nil {
		return string(content)
	}
	counts := claudeSettings{Servers: named(state.Servers), Projects: map[string]projectSettings{}}
	if p, known := state.Projects[cwd]; known {
		p = projectSettings{named(p.Servers), named(p.Allowed), named(p.Enabled), named(p.Disabled)}
		if p.Servers != nil || p.Allowed != nil || p.Enabled != nil || p.Disabled != nil {
			counts.Projects[cwd] = p
		}
	}
	text, err := json.Marshal(counts)
	if err != nil || string(text) == "{}" {
		return ""
	}
	return string(text)
}

// named returns a list or an object with members, otherwise nil.
func named(raw json.RawMessage) json.RawMessage {
	switch string(raw) {
	case "", "null", "[]", "{}":
		return nil
	}
	return raw
}
