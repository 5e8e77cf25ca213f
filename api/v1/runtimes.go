package v1

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"harness/internal/operations"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/tasks"
)

func (s *Server) root(w http.ResponseWriter, _ *http.Request) error {
	states, err := s.opts.Operations.RuntimeStates()
	if err != nil {
		return err
	}
	names := []string{}
	for _, one := range states {
		names = append(names, one.Name)
	}
	return reply(w, http.StatusOK, struct {
		OK              bool     `json:"ok"`
		Name            string   `json:"name"`
		Version         string   `json:"version"`
		ContractVersion string   `json:"contract_version"`
		Runtimes        []string `json:"runtimes"`
	}{true, "harness", s.opts.Version, tasks.ContractVersion, names})
}

// abilities are the capabilities of a runtime, with the members that clients know.
type abilities struct {
	Streaming       bool     `json:"supportsStreaming"`
	ToolCalls       bool     `json:"supportsToolCalls"`
	Parallel        bool     `json:"supportsParallelToolCalls"`
	SessionCreate   bool     `json:"supportsSessionCreate"`
	SessionResume   bool     `json:"supportsSessionResume"`
	Stop            bool     `json:"supportsStop"`
	Artifacts       bool     `json:"supportsArtifacts"`
	Usage           bool     `json:"supportsUsageReporting"`
	NonInteractive  bool     `json:"supportsNonInteractive"`
	MaxOutstanding  int      `json:"maxOutstandingToolCalls"`
	AuthModel       string   `json:"authModel"`
	ToolExecution   string   `json:"toolExecutionModel"`
	PermissionModel string   `json:"permissionModel"`
	StateModel      string   `json:"stateModel"`
	ResumeModel     string   `json:"resumeModel"`
	Reconstructs    bool     `json:"reconstructsLostSessions"`
	ReplaySafety    string   `json:"toolReplaySafety"`
	MCP             string   `json:"mcpSupport"`
	Transports      []string `json:"mcpTransports"`
	Cancellation    string   `json:"cancellationModel"`
	Isolation       []string `json:"supportedIsolationModes"`
	Recommended     string   `json:"recommendedIsolationMode"`
	// AutoDeclined lists the runtime's built-in tools that run without approval in mode ask.
	AutoDeclined []string `json:"unaskedTools"`
}

// unknown is the value of a fact that an adapter does not provide.
const unknown = "unknown"

func abilitiesOf(c runtime.Capabilities) abilities {
	f := c.Facts
	return abilities{Streaming: c.Streaming, ToolCalls: true, Parallel: c.ParallelToolCalls, SessionCreate: true,
		SessionResume: c.Resume, Stop: c.Interrupt, Artifacts: true, Usage: c.Usage,
		NonInteractive: slices.Contains(c.ApprovalPolicies, "never"), MaxOutstanding: c.MaxToolCalls(),
		AuthModel: cmp.Or(f.Auth, unknown), ToolExecution: cmp.Or(f.ToolExecution, runtime.ToolsInternal),
		PermissionModel: cmp.Or(f.Permission, runtime.PermissionRuntime), StateModel: cmp.Or(f.State, unknown),
		ResumeModel: cmp.Or(f.Resume, runtime.ResumeNone), ReplaySafety: cmp.Or(f.Replay, unknown), MCP: cmp.Or(f.MCP, runtime.MCPNone),
		Transports: append([]string{}, f.Transports...), Cancellation: cmp.Or(f.Cancellation, unknown),
		Isolation: append([]string{}, f.Isolation...), Recommended: isolation, Reconstructs: c.Reconstruct,
		AutoDeclined: append([]string{}, c.AutoApproved...)}
}

// authBody describes a runtime's credentials without naming any.
type authBody struct {
	OK        bool        `json:"ok"`
	LoggedIn  bool        `json:"loggedIn"`
	AuthModel string      `json:"authModel"`
	Details   authDetails `json:"details"`
	Error     string      `json:"error,omitempty"`
}

type authDetails struct {
	State       runtime.AuthState `json:"state"`
	Credentials []string          `json:"credentials"`
	Remedy      string            `json:"remedy,omitempty"`
}

func viewAuth(auth runtime.AuthStatus, can runtime.Capabilities) authBody {
	return authBody{OK: true, LoggedIn: auth.State == runtime.AuthFound, AuthModel: cmp.Or(can.Facts.Auth, unknown),
		Details: authDetails{auth.State, append([]string{}, auth.Credentials...), auth.Remedy}}
}

// healthBody is the health of a runtime.
type healthBody struct {
	OK           bool          `json:"ok"`
	Runtime      string        `json:"runtime"`
	Time         string        `json:"time"`
	State        runtime.State `json:"state"`
	Reason       string        `json:"reason,omitempty"`
	Capabilities *abilities    `json:"capabilities,omitempty"`
	Auth         *authBody     `json:"auth,omitempty"`
	Error        string        `json:"error,omitempty"`
	Runtimes     []healthBody  `json:"runtimes,omitempty"`
}

// each queries one runtime, or all of them, the default one first.
func (s *Server) each(ctx context.Context, named string, find func(operations.Runtime, error)) error {
	if named != "" {
		one, err := s.opts.Operations.Runtime(ctx, s.runtimeName(named))
		var unknown *session.UnknownRuntimeError
		if errors.As(err, &unknown) {
			unknown.Runtime = named
			return err
		}
		find(one, err)
		return nil
	}
	states, err := s.opts.Operations.RuntimeStates()
	if err != nil {
		return err
	}
	for _, state := range states {
		one, err := s.opts.Operations.Runtime(ctx, state.Name)
		if one.Name == "" {
			one = operations.Runtime{Name: state.Name, Status: state.Status, Capabilities: state.Capabilities}
		}
		find(one, err)
	}
	return nil
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) error {
	named, at := r.URL.Query().Get("runtime"), s.now()
	var all []healthBody
	err := s.each(r.Context(), named, func(one operations.Runtime, err error) {
		can := abilitiesOf(one.Capabilities)
		h := healthBody{OK: err == nil && one.Status.State == runtime.StateReady, Runtime: one.Name, Time: at,
			State: one.Status.State, Reason: one.Status.Reason, Capabilities: &can}
		if err != nil {
			h.Error = err.Error()
		} else {
			auth := viewAuth(one.Auth, one.Capabilities)
			h.Auth = &auth
		}
		all = append(all, h)
	})
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return reply(w, http.StatusOK, healthBody{Time: at, Error: "this server has no runtime"})
	}
	first := all[0]
	if named == "" {
		first.Runtimes = all
	}
	return reply(w, http.StatusOK, first)
}

func (s *Server) capabilities(w http.ResponseWriter, r *http.Request) error {
	named := r.URL.Query().Get("runtime")
	body := struct {
		abilities
		Runtimes map[string]abilities `json:"runtimes,omitempty"`
	}{}
	seen := 0
	err := s.each(r.Context(), named, func(one operations.Runtime, _ error) {
		can := abilitiesOf(one.Capabilities)
		if seen++; seen == 1 {
			body.abilities = can
		}
		if named == "" {
			if body.Runtimes == nil {
				body.Runtimes = map[string]abilities{}
			}
			body.Runtimes[one.Name] = can
		}
	})
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, body)
}

func (s *Server) authStatus(w http.ResponseWriter, r *http.Request) error {
	named := r.URL.Query().Get("runtime")
	body := struct {
		authBody
		Runtimes map[string]authBody `json:"runtimes,omitempty"`
	}{}
	seen := 0
	err := s.each(r.Context(), named, func(one operations.Runtime, err error) {
		auth := viewAuth(one.Auth, one.Capabilities)
		if err != nil {
			auth = authBody{AuthModel: unknown, Details: authDetails{State: runtime.AuthUnknown, Credentials: []string{}},
				Error: err.Error()}
		}
		if seen++; seen == 1 {
			body.authBody = auth
		}
		if named == "" {
			if body.Runtimes == nil {
				body.Runtimes = map[string]authBody{}
			}
			body.Runtimes[one.Name] = auth
		}
	})
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, body)
}
