package api

import (
	"context"

	"harness/api/rest"
	"harness/internal/operations"
	"harness/internal/platform/database"
)

// agentSetup is what one agent needs before it can work.
type agentSetup struct {
	Name    string                `json:"name"`
	Default bool                  `json:"default"`
	State   operations.SetupState `json:"state"`
	Version string                `json:"version,omitempty"`
	Remedy  string                `json:"remedy,omitempty"`
	Command string                `json:"command,omitempty"`
	Logins  []string              `json:"logins"`
}

// serverSetup is the server itself. Problem is why it is not ready, "" if it is.
type serverSetup struct {
	Version string `json:"version"`
	Ready   bool   `json:"ready"`
	Problem string `json:"problem,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
}

// accessSetup is what new sessions may do without asking. Chosen reports that people chose it: a client may begin with other
// levels of its own otherwise.
type accessSetup struct {
	ApprovalPolicy    string `json:"approvalPolicy"`
	FilesystemSandbox string `json:"filesystemSandbox"`
	NetworkAccess     string `json:"networkAccess"`
	Chosen            bool   `json:"chosen"`
}

// accessOf returns the access of new sessions. The settings say what the server was started with.
func (s *server) accessOf(ctx context.Context) (accessSetup, error) {
	now, err := s.Operations.Defaults(ctx)
	access := accessSetup{now.ApprovalPolicy, now.FilesystemSandbox, now.NetworkAccess, s.Operations.DefaultsLocked()}
	for _, one := range s.Settings {
		differs := false
		switch one.Name {
		case "DEFAULT_APPROVAL_POLICY":
			differs = one.Value != now.ApprovalPolicy
		case "DEFAULT_SANDBOX_MODE":
			differs = one.Value != now.FilesystemSandbox
		case "HARNESS_RUNTIME_SANDBOX", "HARNESS_RUNTIME_APPROVAL":
		default:
			continue
		}
		access.Chosen = access.Chosen || differs || one.Source != "default"
	}
	return access, err
}

// getSetup reports what is ready and what is missing, with what to do.
func (s *server) getSetup(ctx context.Context, _ *rest.Input) (rest.Reply, error) {
	found, err := s.Operations.Setup(ctx)
	if err != nil {
		return rest.Reply{}, err
	}
	access, err := s.accessOf(ctx)
	if err != nil {
		return rest.Reply{}, err
	}
	body := struct {
		Agents []agentSetup `json:"agents"`
		Server serverSetup  `json:"server"`
		Access accessSetup  `json:"access"`
	}{[]agentSetup{}, serverSetup{Version: s.Version, Ready: true}, access}
	for _, one := range found {
		body.Agents = append(body.Agents, agentSetup{one.Name, one.Default, one.State, one.Version, one.Remedy, one.Command,
			append([]string{}, one.Logins...)})
	}
	if outage := s.Health.Store(); outage != nil {
		body.Server = serverSetup{Version: s.Version, Problem: "The database refuses writes: " + database.Reason(outage.Cause),
			Remedy: "harness doctor says what to do"}
	} else if err := s.Health.Serving(); err != nil {
		body.Server = serverSetup{Version: s.Version, Problem: err.Error()}
	}
	return rest.OK(body)
}
