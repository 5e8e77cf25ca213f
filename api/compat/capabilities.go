package compat

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"

	"harness/api/rest"
	"harness/internal/lib/javascript"
	"harness/internal/runtime"
)

var capabilitiesQuery = query(rest.Optional("refresh", rest.Flag))

// The states of a runtime method.
const (
	methodAvailable = "available"
	methodDisabled  = "disabled"
	methodUnknown   = "unknown"
)

// probedMethods are the methods that clients expect, in the expected order. item/tool/call and both requestUserInput are
// requests to clients, so no runtime offers them, but clients expect them in the list.
var probedMethods = []string{
	"thread/fork", "thread/compact/start", "thread/rollback", "thread/backgroundTerminals/clean", "turn/steer",
	"review/start", "command/exec", "experimentalFeature/list", "collaborationMode/list", "skills/list",
	"skills/config/write", "skills/remote/read", "skills/remote/write", "app/list", "config/mcpServer/reload",
	"mcpServer/oauth/login", "item/tool/call", "item/tool/requestUserInput", "tool/requestUserInput", "config/read",
	"config/value/write", "config/batchWrite", "configRequirements/read", "feedback/upload", "account/read",
	"account/login/start", "account/login/cancel", "account/logout", "account/rateLimits/read",
}

// capabilityFeatures lists client features and the methods each requires. A feature with no methods is always
// available.
var capabilityFeatures = []struct {
	name    string
	methods []string
}{
	{"toolUserInput", nil}, {"dynamicToolCall", nil}, {"threadFork", []string{"thread/fork"}},
	{"threadCompact", []string{"thread/compact/start"}}, {"threadRollback", []string{"thread/rollback"}},
	{"threadBackgroundTerminalClean", []string{"thread/backgroundTerminals/clean"}}, {"turnSteer", []string{"turn/steer"}},
	{"reviewStart", []string{"review/start"}}, {"commandExec", []string{"command/exec"}},
	{"feedbackUpload", []string{"feedback/upload"}}, {"mcpOauth", []string{"mcpServer/oauth/login"}},
	{"mcpReload", []string{"config/mcpServer/reload"}},
	{"accountLifecycle", []string{"account/read", "account/login/start", "account/login/cancel", "account/logout"}},
	{"configRead", []string{"config/read"}}, {"configWrite", []string{"config/value/write", "config/batchWrite"}},
	{"configRequirements", []string{"configRequirements/read"}}, {"apps", []string{"app/list"}},
	{"skills", []string{"skills/list"}}, {"collaborationModes", []string{"collaborationMode/list"}},
	{"experimentalFeatures", []string{"experimentalFeature/list"}},
	{"planUpdates", nil}, {"diffUpdates", nil}, {"tokenUsage", nil},
}

// probe is the runtime's report about its methods. The zero probe contains no report.
type probe struct {
	known      bool
	methods    map[string]bool
	reason     string // why there is no report
	generation string // the process that sent the report
	at         string
	// lacks is the reason for a missing method. features are features without a method of the same meaning. Both default
	// to codex's values.
	lacks    string
	features map[string]bool
}

// probes stores the last probe.
type probes struct {
	mu   sync.Mutex
	last probe
}

func (m *Mount) getCapabilities(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	status := m.opts.Status()
	m.probes.mu.Lock()
	last := m.probes.last
	m.probes.mu.Unlock()
	stale := last.at == "" || status.State == runtime.StateReady && (!last.known || last.generation != status.Generation)
	if stale || in.Query.Get("refresh").Text() == "true" {
		last = m.probe(ctx, status.Generation)
		m.probes.mu.Lock()
		m.probes.last = last
		m.probes.mu.Unlock()
	}
	return rest.OK(last.body(status.State == runtime.StateReady))
}

// probe calls a method that no runtime has, because the refusal lists the known methods. codex-manager called each
// method without parameters instead, which executes some of them.
func (m *Mount) probe(ctx context.Context, generation string) probe {
	result := probe{generation: generation, at: javascript.ISOTime(m.opts.Clock().UnixMilli())}
	_, err := m.call(ctx, "harness/probe", struct{}{})
	var refusal *runtime.Error
	if !errors.As(err, &refusal) {
		result.reason = "the runtime did not report its methods"
		if errors.Is(err, runtime.ErrUnavailable) {
			result.reason = err.Error()
		}
		return result
	}
	_, listed, found := strings.Cut(refusal.Message, "expected one of ")
	if !found {
		result.reason = "this runtime does not list its methods"
		return result
	}
	result.known, result.methods = true, map[string]bool{}
	for name := range strings.SplitSeq(listed, ", ") {
		result.methods[strings.Trim(name, "` ")] = true
	}
	return result
}

// status returns the state of a method. If the method is unavailable, it also returns the reason.
func (p probe) status(method string) (string, *string) {
	switch {
	case !p.known:
		return methodUnknown, &p.reason
	case p.methods[method]:
		return methodAvailable, nil
	}
	reason := cmp.Or(p.lacks, "this version of the runtime does not have it")
	return methodDisabled, &reason
}

// offers reports whether a feature works. Rollback also works on runtimes that can only revert (see rollback).
func (p probe) offers(name string, methods []string) bool {
	if offered, said := p.features[name]; said {
		return offered
	}
	for _, method := range methods {
		if p.methods[method] || method == "thread/rollback" && p.methods["thread/revert"] {
			continue
		}
		return false
	}
	return true
}

type capabilitiesBody struct {
	Status   string      `json:"status"`
	Runtime  runtimeView `json:"runtime"`
	Methods  ordered     `json:"methods"`
	Details  ordered     `json:"details"`
	Features ordered     `json:"features"`
}

type runtimeView struct {
	Initialized bool   `json:"initialized"`
	UpdatedAt   string `json:"capabilitiesLastUpdatedAt"`
}

func (p probe) body(initialized bool) capabilitiesBody {
	type detail struct {
		Status string  `json:"status"`
		Reason *string `json:"reason"`
	}
	var methods, details, features ordered
	for _, method := range probedMethods {
		status, reason := p.status(method)
		methods = append(methods, pair{method, status})
		details = append(details, pair{method, detail{status, reason}})
	}
	for _, feature := range capabilityFeatures {
		features = append(features, pair{feature.name, p.offers(feature.name, feature.methods)})
	}
	return capabilitiesBody{"ok", runtimeView{initialized, p.at}, methods, details, features}
}

// ordered is a JSON object that preserves the order of its members.
type ordered []pair

type pair struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o ordered) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, member := range o {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := javascript.Stringify(member.name)
		if err != nil {
			return nil, err
		}
		value, err := javascript.Stringify(member.value)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}
