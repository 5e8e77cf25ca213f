package extensions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// manifestFile is the manifest's file name in an extension's folder.
const manifestFile = "extension.manifest.json"

// maxManifest bounds the size of a manifest in bytes.
const maxManifest = 1 << 20

// Manifest is an extension's declaration. Unknown members are ignored; members of the wrong type count as absent and
// appear in the diagnostics, as in codex-manager.
type Manifest struct {
	Name, Version, AgentID, DisplayName string
	// Runtime is nil without a runtime member: compatible with everything.
	Runtime *Compatibility
	// Events is entrypoints.events, relative to the extension's folder.
	Events string
	// Capabilities is nil if the manifest declares none.
	Capabilities *Capabilities
	// Tools is the raw member of that name, nil without one.
	Tools json.RawMessage
}

// Compatibility is the manifest's runtime member.
type Compatibility struct {
	CoreAPIVersion      *int
	CoreAPIVersionRange string
	Profiles            []ProfileRequirement
	Choice              RuntimeChoice
}

// ProfileRequirement names a runtime profile in which an extension runs.
type ProfileRequirement struct{ Name, Version, VersionRange string }

// Capabilities are the declared events and actions, "*" means any; Host is the requested access to the machine.
type Capabilities struct {
	Events  []string `json:"events"`
	Actions []string `json:"actions"`
	Host    []string `json:"host,omitempty"`
}

// readManifest reads the manifest of an extension's folder; nil and no error without a manifest. diagnostics name the
// skipped parts.
func readManifest(root string) (manifest *Manifest, diagnostics []string, err error) {
	raw, err := readSmall(filepath.Join(root, manifestFile), os.Stat)
	if raw == nil || err != nil {
		return nil, nil, err
	}
	return parseManifest(raw)
}

// readSmall reads a JSON file of an extension without its byte order mark; nil without a file. stat decides whether a
// link is accepted.
func readSmall(file string, stat func(string) (os.FileInfo, error)) ([]byte, error) {
	info, err := stat(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxManifest) {
		err = fmt.Errorf("%s is not a file of at most %d bytes", filepath.Base(file), maxManifest)
	}
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return bytes.TrimPrefix(raw, []byte("\ufeff")), nil
}

// parseManifest reads a manifest's text.
func parseManifest(raw []byte) (*Manifest, []string, error) {
	var whole any
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, nil, fmt.Errorf("manifest is %w", syntaxProblem(raw, err))
	}
	if _, isObject := whole.(map[string]any); !isObject {
		return nil, nil, errors.New("manifest shape is invalid or missing required fields: it is not a JSON object")
	}
	r := reader{}
	top := r.object("", raw)
	manifest := &Manifest{Name: r.text(top, "name"), Version: r.text(top, "version"), AgentID: r.text(top, "agentId"),
		DisplayName: r.text(top, "displayName")}
	var missing []string
	for _, field := range []struct{ name, value string }{
		{"name", manifest.Name}, {"version", manifest.Version}, {"agentId", manifest.AgentID},
		{"displayName", manifest.DisplayName},
	} {
		if field.value == "" {
			missing = append(missing, field.name)
		}
	}
	if missing != nil {
		return nil, nil, fmt.Errorf("manifest shape is invalid or missing required fields: %s must be a non-empty string",
			strings.Join(missing, ", "))
	}
	if runtime := r.member(top, "runtime"); runtime != nil {
		manifest.Runtime = r.compatibility(runtime)
	}
	if entrypoints := r.member(top, "entrypoints"); entrypoints != nil {
		manifest.Events = r.text(entrypoints, "events")
	}
	if capabilities := r.member(top, "capabilities"); capabilities != nil {
		manifest.Capabilities = &Capabilities{Events: r.texts(capabilities, "events"),
			Actions: r.texts(capabilities, "actions"), Host: r.texts(capabilities, "host")}
	}
	manifest.Tools, _ = top.get("tools")
	return manifest, r.diagnostics, nil
}

// syntaxProblem adds the position at which the text stops being JSON.
func syntaxProblem(raw []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return fmt.Errorf("no JSON: %w", err)
	}
	before := raw[:min(max(int(syntax.Offset)-1, 0), len(raw))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("no JSON: %w (line %d column %d)", err, line, column)
}

// reader reads members of JSON objects and records the skipped ones.
type reader struct{ diagnostics []string }

type members struct {
	path   string
	values map[string]json.RawMessage
}

func (r *reader) note(path, problem string) {
	r.diagnostics = append(r.diagnostics, fmt.Sprintf("%s: %s %s and is ignored", manifestFile, path, problem))
}

func (r *reader) object(path string, raw json.RawMessage) *members {
	out := &members{path: path}
	if json.Unmarshal(raw, &out.values) != nil || out.values == nil {
		r.note(path, "is no object")
		return nil
	}
	return out
}

func (m *members) name(key string) string {
	if m.path == "" {
		return key
	}
	return m.path + "." + key
}

func (m *members) get(key string) (json.RawMessage, bool) {
	raw, ok := m.values[key]
	return raw, ok && string(raw) != "null"
}

func (r *reader) member(in *members, key string) *members {
	raw, ok := in.get(key)
	if !ok {
		return nil
	}
	return r.object(in.name(key), raw)
}

func (r *reader) text(in *members, key string) string {
	raw, ok := in.get(key)
	if !ok {
		return ""
	}
	var value string
	if json.Unmarshal(raw, &value) != nil {
		r.note(in.name(key), "is no string")
		return ""
	}
	return strings.TrimSpace(value)
}

func (r *reader) texts(in *members, key string) []string {
	values := []string{}
	for i, raw := range r.list(in, key) {
		var value string
		if json.Unmarshal(raw, &value) != nil || strings.TrimSpace(value) == "" {
			r.note(fmt.Sprintf("%s[%d]", in.name(key), i), "is no non-empty string")
			continue
		}
		values = append(values, strings.TrimSpace(value))
	}
	return values
}

func (r *reader) list(in *members, key string) []json.RawMessage {
	raw, ok := in.get(key)
	if !ok {
		return nil
	}
	var values []json.RawMessage
	if json.Unmarshal(raw, &values) != nil {
		r.note(in.name(key), "is no list")
	}
	return values
}

func (r *reader) compatibility(in *members) *Compatibility {
	out := &Compatibility{CoreAPIVersionRange: r.text(in, "coreApiVersionRange")}
	if raw, ok := in.get("coreApiVersion"); ok {
		var number float64
		if json.Unmarshal(raw, &number) == nil && number >= -1e9 && number <= 1e9 {
			version := int(number)
			out.CoreAPIVersion = &version
		} else {
			r.note(in.name("coreApiVersion"), "is no number")
		}
	}
	for i, raw := range r.list(in, "profiles") {
		profile := r.object(fmt.Sprintf("%s[%d]", in.name("profiles"), i), raw)
		if profile == nil {
			continue
		}
		required := ProfileRequirement{Name: r.text(profile, "name"), Version: r.text(profile, "version"),
			VersionRange: r.text(profile, "versionRange")}
		if required.Name == "" {
			r.note(profile.name("name"), "is empty, so the profile names nothing")
			continue
		}
		out.Profiles = append(out.Profiles, required)
	}
	out.Choice.Host = r.text(in, "host")
	if command := r.texts(in, "command"); len(command) > 0 {
		out.Choice.Command = command
	}
	return out
}
