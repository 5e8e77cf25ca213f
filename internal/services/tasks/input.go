package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"harness/internal/content/artifact"
	"harness/internal/lib/javascript"
	"harness/internal/lib/jcs"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// Artifacts stores the inputs of runtimes. *artifact.Store implements it.
type Artifacts interface {
	Put(ctx context.Context, sessionID, name, contentType string, content []byte) (artifact.Ref, error)
	// PutAs stores a content under an existing reference; a stored one stays.
	PutAs(ctx context.Context, ref artifact.Ref, content []byte) error
}

// Tool is a tool of this server for an agent: its name and the hashes of its schemas.
type Tool struct {
	Name             string `json:"name"`
	SchemaHash       string `json:"schema_hash"`
	OutputSchemaHash string `json:"output_schema_hash,omitempty"`
}

// input is the input of a task for its runtime, in canonical form.
type input struct {
	Messages     []Message     `json:"messages"`
	ToolManifest []Tool        `json:"tool_manifest"`
	Config       config        `json:"runtime_config"`
	Window       contextWindow `json:"context_window"`
	Visibility   string        `json:"input_visibility"`
}

// config is what the runtime gets besides the messages; "" means its default or current value. It must not depend on
// folder and conversation, so that equal inputs have equal hashes: Cwd is workspacePlaceholder.
type config struct {
	Runtime  string `json:"runtime"`
	Model    string `json:"model,omitempty"`
	Cwd      string `json:"cwd,omitempty"`
	Mode     Mode   `json:"permission_mode,omitempty"`
	Approval string `json:"approval_policy,omitempty"`
	Sandbox  string `json:"filesystem_sandbox,omitempty"`
	Network  string `json:"network_access,omitempty"`
}

type contextWindow struct {
	Strategy string `json:"strategy"`
}

// sources are what an agent reads on its own besides the messages, files as hashes only.
type sources struct {
	Implicit string           `json:"implicit"`
	Disabled bool             `json:"disabled"`
	Reason   string           `json:"reason,omitempty"`
	Sources  []runtime.Source `json:"sources"`
	// Precedence lists the paths in order of precedence: a later one overrides an earlier one.
	Precedence []string `json:"precedence"`
}

// visibilityPrompt means that the input is what this server sends to the runtime. The runtime's own additions for its
// model (instructions, tools, memory) are unknown here.
const visibilityPrompt = "prompt"

// given is a model's input in the form of its event.
type given struct {
	InputRef   json.RawMessage `json:"input_ref,omitempty"`
	InputHash  string          `json:"input_hash"`
	Visibility string          `json:"input_visibility"`
	Window     json.RawMessage `json:"context_window"`
	SourcesRef json.RawMessage `json:"implicit_sources_ref,omitempty"`
	// Reconstructed means that the runtime had lost the conversation, so this server resent the history.
	Reconstructed bool `json:"reconstructed,omitempty"`
}

// keepInput stores the input of a task and the files that its runtime reads on its own. If an input cannot be stored,
// its event has no reference. An error means that a retry may help.
func (s *Service) keepInput(ctx context.Context, t Task, message session.Message, mode Mode) (*given, error) {
	if s.opts.Artifacts == nil {
		return nil, nil
	}
	stored, err := s.opts.Sessions.Lookup(ctx, t.SessionID)
	if err != nil {
		return nil, err
	}
	sent := input{Messages: t.Messages, ToolManifest: []Tool{}, Window: contextWindow{"none"},
		Visibility: visibilityPrompt, Config: config{Runtime: stored.Runtime, Mode: mode,
			Approval: stored.Controls.ApprovalPolicy, Sandbox: stored.Controls.FilesystemSandbox,
			Network: stored.Controls.EffectiveNetwork()}}
	if stored.Cwd != "" {
		sent.Config.Cwd = workspacePlaceholder
	}
	for value, requested := range map[*string]*string{&sent.Config.Approval: message.ApprovalPolicy,
		&sent.Config.Sandbox: message.FilesystemSandbox, &sent.Config.Model: stored.Controls.Model} {
		if requested != nil {
			*value = *requested
		}
	}
	if s.opts.Tools != nil {
		sent.ToolManifest = append(sent.ToolManifest, s.opts.Tools()...)
	}
	out := &given{Visibility: visibilityPrompt, Window: encode(sent.Window)}
	if out.InputRef, out.InputHash, err = s.keep(ctx, t, "model-input.json", sent); err != nil {
		return nil, err
	}
	found, err := s.opts.Sessions.Sources(ctx, t.SessionID)
	if err != nil {
		if database.Transient(err) {
			return nil, err
		}
		s.opts.Logger.Warn().Err(err).Str("session", t.SessionID).Msg("what the agent reads by itself is not known")
		return out, nil
	}
	out.SourcesRef, _, err = s.keep(ctx, t, "implicit-sources.json", sourcesOf(found))
	return out, err
}

func sourcesOf(found session.Sources) sources {
	out := sources{Implicit: found.Implicit, Sources: []runtime.Source{}, Precedence: []string{}}
	switch found.Implicit {
	case runtime.ImplicitNone:
		out.Disabled, out.Reason = true, "the session was opened with implicitSources none; only what the machine's administrator enforces counts"
	case "":
		out.Reason = "what this runtime reads by itself is not known"
	}
	for _, file := range found.Files {
		if file.State != session.SourceRemoved {
			out.Sources = append(out.Sources, file.Source)
		}
	}
	for _, last := range []bool{false, true} {
		for _, one := range out.Sources {
			if enforced(one) == last {
				out.Precedence = append(out.Precedence, one.Path)
			}
		}
	}
	return out
}

// enforced reports whether an administrator or this server overrides settings of the user and the folder.
func enforced(one runtime.Source) bool {
	name := filepath.Base(one.Path)
	return one.Kind == runtime.SourceSettings && (strings.HasPrefix(name, "managed") || name == "requirements.toml" ||
		one.Scope == runtime.SourceOfSystem && name != "config.toml")
}

// keep stores a value in canonical form and returns the hash of the stored value.
func (s *Service) keep(ctx context.Context, t Task, name string, value any) (ref json.RawMessage, hash string,
	err error) {
	encoded, err := javascript.Encode(value)
	if err == nil {
		encoded, err = jcs.Transform(encoded)
	}
	if err != nil {
		return nil, "", fmt.Errorf("write %s of task %s: %w", name, t.ID, err)
	}
	kept, err := s.opts.Artifacts.Put(ctx, t.SessionID, name, "application/json", encoded)
	if database.Transient(err) {
		return nil, "", err
	}
	if err != nil {
		s.opts.Logger.Warn().Err(err).Str("session", t.SessionID).Str("task", t.ID).Msg(name + " could not be kept")
		return nil, "", nil
	}
	return encode(kept), kept.Hash, nil
}
