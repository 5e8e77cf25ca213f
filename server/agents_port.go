package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"harness/api"
	"harness/api/conns"
	"harness/internal/lib/durable"
	"harness/internal/platform/auth"
	"harness/internal/runtime"
	"harness/internal/services/tools/mcphost"
)

// agentsPort is the loopback port through which agents reach the server. Only the bearer of a session opens it.
type agentsPort struct {
	httpPort
	grants *mcphost.Grants
}

var _ runtime.Door = (*agentsPort)(nil)

// agentsPortFile stores the port's number in the data directory: agents outlive servers, and keep their URL.
const agentsPortFile = "agents.port"

// GrantsFile stores the secret that signs the bearers, for the same reason.
const GrantsFile = "tools.key"

func (s *Server) openAgentsPort(ctx context.Context) error {
	secret, err := grantsSecret(filepath.Join(s.dir.Path, GrantsFile))
	if err != nil {
		return err
	}
	if s.agents.grants, err = mcphost.NewGrants(secret, s.db, s.journal, s.now); err != nil {
		return err
	}
	if s.agents.listener, err = s.listenForAgents(ctx, filepath.Join(s.dir.Path, agentsPortFile)); err != nil {
		return err
	}
	s.agents.serve(conns.Options{
		MaxConnections: s.cfg.Limits.HTTPConnections, Metrics: s.metrics.HTTP.Options(),
		Logger: s.log.With().Str("package", "api").Str("port", "agents").Logger(),
	}, s.fail)
	return nil
}

// listenForAgents listens on the port that the file names. If that port is in use, it takes another one and writes it
// to the file.
func (s *Server) listenForAgents(ctx context.Context, file string) (net.Listener, error) {
	last, err := os.ReadFile(file) //nolint:gosec // in the data directory
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read which port agents know: %w", err)
	}
	var config net.ListenConfig
	if port, err := strconv.ParseUint(strings.TrimSpace(string(last)), 10, 16); err == nil {
		listener, err := config.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return listener, nil
		}
		s.log.Warn().Err(err).
			Msg("the port that agents know is in use: those that run reach neither tools nor server until they are started anew")
	}
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for agents on 127.0.0.1: %w", err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err == nil {
		err = durable.Write(file, []byte(port+"\n"))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("store the port that agents know: %w", err), listener.Close())
	}
	return listener, nil
}

func (s *Server) stopAgentsPort(ctx context.Context) error { return s.agents.stop(ctx, s.log) }

// URL implements runtime.Door.
func (p *agentsPort) URL() string { return "http://" + p.listener.Addr().String() }

// Of implements runtime.Door.
func (p *agentsPort) Of(sessionID string) string { return p.grants.Token(sessionID) }

// Unnamed implements runtime.Door.
func (p *agentsPort) Unnamed() (string, func(context.Context, string) error) {
	return p.grants.Unnamed()
}

type agentsPortKey struct{}

// open starts to answer the requests that arrive on the port.
func (p *agentsPort) open(handler http.Handler) {
	p.gate.Open(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), agentsPortKey{}, true)))
	}))
}

// throughAgentsPort reports whether a request arrived on the port for agents.
func throughAgentsPort(r *http.Request) bool { return r.Context().Value(agentsPortKey{}) != nil }

// guards applies to each port its own rules.
func (s *Server) guards(people auth.Options) func(http.Handler) http.Handler {
	forPeople := auth.Guard(people)
	forAgents := auth.AgentGuard(auth.AgentOptions{Session: s.agents.grants.Session, Refused: people.Refused})
	return func(next http.Handler) http.Handler {
		people, agents := forPeople(next), forAgents(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if throughAgentsPort(r) {
				agents.ServeHTTP(w, r)
				return
			}
			people.ServeHTTP(w, r)
		})
	}
}

// grantsSecret reads the secret, or creates it.
func grantsSecret(path string) ([]byte, error) {
	secret, err := os.ReadFile(path)
	if err == nil && len(secret) == mcphost.SecretBytes {
		return secret, nil
	}
	if err == nil && len(secret) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) { // a power failure may leave it empty
		return nil, fmt.Errorf(
			"the secret %s cannot be read or is damaged; remove it, and agents that run are started anew: %w", path,
			errors.Join(err))
	}
	secret = make([]byte, mcphost.SecretBytes)
	if _, err := rand.Read(secret); err != nil {
		return nil, err
	}
	return secret, durable.Write(path, secret)
}

// agentScopes implements api.Agents: the permissions of agents.
type agentScopes struct{ *Server }

// AgentScope implements api.Agents.
func (a agentScopes) AgentScope(ctx context.Context, sessionID string) (api.AgentScope, bool, error) {
	if a.queue.Queue == nil {
		return api.AgentScope{}, false, nil
	}
	job, found, err := a.queue.RunningIn(ctx, sessionID)
	if err != nil || !found || job.SourceSessionID == nil {
		return api.AgentScope{}, false, err
	}
	// After a session moved to another node, the agent here no longer belongs to it.
	stored, err := a.sessions.Conversations.Lookup(ctx, sessionID)
	if err == nil {
		err = a.sessions.Ownership.CheckOwner(stored)
	}
	if err != nil {
		return api.AgentScope{}, false, err
	}
	var payload struct {
		TurnID string `json:"turnId"`
	}
	if err := json.Unmarshal(job.Payload, &payload); err != nil {
		return api.AgentScope{}, false, err
	}
	return api.AgentScope{SessionID: *job.SourceSessionID, TurnID: payload.TurnID}, true, nil
}
