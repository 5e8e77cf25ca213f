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

// getSetup reports what is ready and what is missing, with what to do.
func (s *server) getSetup(ctx context.Context, _ *rest.Input) (rest.Reply, error) {
	found, err := s.Operations.Setup(ctx)
	if err != nil {
		return rest.Reply{}, err
	}
	body := struct {
		Agents []agentSetup `json:"agents"`
		Server serverSetup  `json:"server"`
	}{[]agentSetup{}, serverSetup{Version: s.Version, Ready: true}}
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
