package claude

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	vocabulary "harness/internal/runtime"
)

// Levels, as stored with sessions.
const (
	readOnly       = "read-only"
	workspaceWrite = "workspace-write"
	fullAccess     = "danger-full-access"

	untrusted = "untrusted"
	onFailure = "on-failure"
	onRequest = "on-request"
	never     = "never"

	restricted = "restricted"
	enabled    = "enabled"
)

// controls are the settings of a process. A change restarts it, and the conversation resumes.
type controls struct {
	Cwd      string `json:"cwd"`
	Model    string `json:"model,omitempty"`
	Effort   string `json:"effort,omitempty"`
	Approval string `json:"approval"`
	Sandbox  string `json:"sandbox"`
	Network  string `json:"network"`
	Plan     bool   `json:"plan,omitempty"`
}

// strict sets missing values to the narrowest level.
func (c controls) strict() controls {
	c.Approval, c.Sandbox, c.Network = cmp.Or(c.Approval, untrusted), cmp.Or(c.Sandbox, readOnly), cmp.Or(c.Network,
		restricted)
	return c
}

// with returns the controls with the settings of a message; empty settings change nothing.
func (c controls) with(in vocabulary.StartTurn) (controls, error) {
	c.Cwd, c.Model, c.Effort = cmp.Or(in.Cwd, c.Cwd), cmp.Or(in.Model, c.Model), cmp.Or(in.Effort, c.Effort)
	c.Approval, c.Sandbox = cmp.Or(in.ApprovalPolicy, c.Approval), cmp.Or(in.Sandbox, c.Sandbox)
	c.Network = cmp.Or(in.NetworkAccess, c.Network)
	if len(in.CollaborateMode) > 0 && string(in.CollaborateMode) != "null" {
		var mode struct {
			Mode string `json:"mode"`
		}
		if err := json.Unmarshal(in.CollaborateMode, &mode); err != nil {
			return c, fmt.Errorf("%w: the collaboration mode must be an object with a mode", vocabulary.ErrInvalidParams)
		}
		c.Plan = mode.Mode == "plan"
	}
	return c.strict(), nil
}

// check refuses unsupported settings before a process starts.
func (r *Runtime) check(c controls) error {
	if err := r.Capabilities().CheckControls(Name, c.Approval, c.Sandbox, c.Network); err != nil {
		return err
	}
	switch {
	case c.Sandbox == fullAccess && c.Network == restricted:
		// Commands run unconfined, so they have full network access.
		return &vocabulary.ControlError{Runtime: Name, Field: "networkAccess", Value: restricted, Enforced: []string{enabled}}
	case c.Sandbox == fullAccess && c.Approval == never && !r.mayBypass():
		return &vocabulary.ControlError{Runtime: Name, Field: "approvalPolicy", Value: never,
			Enforced: []string{untrusted, onFailure, onRequest}}
	case c.Effort != "" && !slices.Contains(efforts(), c.Effort):
		return fmt.Errorf("%w: Claude Code has no effort %q; choose one of %v", vocabulary.ErrInvalidParams,
			c.Effort, efforts())
	}
	info, err := os.Stat(c.Cwd)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return fmt.Errorf("%w: the session cannot work in the folder %q: %w", vocabulary.ErrInvalidParams, c.Cwd, err)
	}
	return nil
}

func efforts() []string { return []string{"low", "medium", "high", "xhigh", "max"} }

// sandboxes returns the levels that can be enforced here. Claude Code confines commands with bubblewrap and socat on
// Linux, and with the system's sandbox on macOS.
func (r *Runtime) sandboxes() []string {
	if r.confines() {
		return []string{readOnly, workspaceWrite, fullAccess}
	}
	return []string{readOnly, fullAccess}
}

func (r *Runtime) confines() bool {
	if runtime.GOOS == "darwin" {
		return true
	}
	// Claude Code's processes search these folders.
	folders := filepath.SplitList(r.launcher.Variable("PATH"))
	for _, program := range []string{"bwrap", "socat"} {
		if !slices.ContainsFunc(folders, func(folder string) bool {
			_, err := exec.LookPath(filepath.Join(folder, program))
			return err == nil
		}) {
			return false
		}
	}
	return true
}

// mayBypass reports whether Claude Code can run commands without any approval. It cannot as root, unless the
// environment marks it as confined.
func (r *Runtime) mayBypass() bool {
	return os.Getuid() != 0 || r.launcher.Variable("IS_SANDBOX") == "1"
}

// arguments returns the arguments of a process with these controls; resume means that the conversation has a history.
func (c controls) arguments(native string, resume bool) []string {
	args := []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--replay-user-messages", "--setting-sources", "", "--strict-mcp-config",
		"--permission-prompt-tool", "stdio", "--await-initialize"}
	if resume {
		args = append(args, "--resume", native)
	} else {
		args = append(args, "--session-id", native)
	}
	if c.Model != "" {
		args = append(args, "--model", c.Model)
	}
	if c.Effort != "" {
		args = append(args, "--effort", c.Effort)
	}
	switch {
	case c.Approval == never && c.Sandbox == fullAccess:
		args = append(args, "--permission-mode", "bypassPermissions")
	case c.Approval == never:
		args = append(args, "--permission-mode", "dontAsk")
	case c.Plan:
		args = append(args, "--permission-mode", "plan")
	}
	switch c.Sandbox {
	case fullAccess:
	case workspaceWrite:
		// Without failIfUnavailable a broken sandbox is only a warning. Claude Code stores settings in a file with
		// their hash as its name, and deletes it when the process ends. Two processes with equal settings would share
		// it, so the settings name the conversation.
		domains := `[]` // a user approves each host
		if c.Network == enabled {
			domains = `["*"]`
		}
		args = append(args, "--settings",
			`{"env":{"HARNESS_CONVERSATION":`+strconv.Quote(native)+`},`+
				`"sandbox":{"enabled":true,"failIfUnavailable":true,"autoAllowBashIfSandboxed":true,`+
				`"allowUnsandboxedCommands":false,"network":{"allowedDomains":`+domains+`}}}`)
	default:
		args = append(args, "--disallowedTools", "Bash,Write,Edit,NotebookEdit")
	}
	return args
}
