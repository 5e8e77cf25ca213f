package environment

import (
	"slices"
	"strings"

	"harness/internal/runtime"
)

// ProviderStatus describes a provider for a runtime. It names variables without their values.
type ProviderStatus struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Chosen means that the runtime uses it, ChooseWith how to choose it.
	Chosen     bool   `json:"chosen"`
	ChooseWith string `json:"chooseWith"`
	// Needs are its requirements, Missing the names of the missing ones. An ambient one may exist nevertheless.
	Needs   []Need   `json:"needs"`
	Missing []string `json:"missing"`
	// Passed are the server's variables that the runtime gets for it, HeldBack those it does not get.
	Passed   []string   `json:"passed"`
	HeldBack []HeldBack `json:"heldBack"`
	// Remedy is the fix, "" when nothing is missing.
	Remedy string `json:"remedy,omitempty"`
	// Switched means that a variable chose it, and not the runtime's configuration, which may name several.
	Switched bool `json:"-"`
}

// HeldBack is a variable of the server's environment that a runtime does not get, with the reason.
type HeldBack struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Auth returns the provider's state of a runtime's credentials. Ambient ones count as unknown, not as missing.
func (s ProviderStatus) Auth() runtime.AuthStatus {
	missing := func(n Need) bool { return !n.Ambient && slices.Contains(s.Missing, n.What) }
	switch {
	case len(s.Missing) == 0:
		return runtime.AuthStatus{State: runtime.AuthFound, Credentials: []string{runtime.CredentialCloud}}
	case slices.ContainsFunc(s.Needs, missing):
		return runtime.AuthStatus{State: runtime.AuthMissing, Credentials: []string{}, Remedy: s.Remedy}
	}
	return runtime.AuthStatus{State: runtime.AuthUnknown, Credentials: []string{}, Remedy: s.Remedy}
}

// ChosenProvider returns the provider of a runtime of a family with these variables, nil for the vendor's own.
func ChosenProvider(family string, lookup func(name string) string) *ProviderStatus {
	for _, one := range Providers() {
		if one.Family == family && one.Chosen(lookup) {
			status := one.status(lookup)
			return &status
		}
	}
	return nil
}

// status returns the missing requirements.
func (p Provider) status(lookup func(name string) string) ProviderStatus {
	status := ProviderStatus{Name: p.Name, Title: p.Title, Chosen: p.Chosen(lookup), ChooseWith: p.choose(), Needs: p.Needs,
		Missing: []string{}, Passed: []string{}, HeldBack: []HeldBack{}, Switched: p.Switch != ""}
	var remedies []string
	for _, need := range p.Needs {
		if !need.met(lookup) {
			status.Missing = append(status.Missing, need.What)
			remedies = append(remedies, "for "+need.What+" one of "+strings.Join(need.AnyOf, ", "))
		}
	}
	if len(remedies) > 0 && status.Chosen {
		status.Remedy = p.Title + " is chosen (" + status.ChooseWith + "): set " + strings.Join(remedies, "; and ")
	}
	return status
}

// ProvidersOf returns the providers a runtime can use, with the server's variables (NAME=value) it gets for each.
func (p Policy) ProvidersOf(environ []string, name string, families ...string) []ProviderStatus {
	lookup := lookupIn(environ)
	p.Lookup = lookup
	if len(families) == 0 {
		families = []string{name}
	}
	inherits := p.Inherits(name, families...)
	all := []ProviderStatus{}
	for _, one := range Providers() {
		if !slices.Contains(families, one.Family) {
			continue
		}
		status := one.status(func(name string) string {
			if !inherits(name) && name != one.Switch {
				return ""
			}
			return lookup(name)
		})
		for _, assignment := range slices.Sorted(slices.Values(environ)) {
			variable, value, _ := strings.Cut(assignment, "=")
			switch {
			case value == "" || !one.about(variable):
			case inherits(variable):
				status.Passed = append(status.Passed, variable)
			default:
				status.HeldBack = append(status.HeldBack, HeldBack{variable, p.reason(one, status, variable, name)})
			}
		}
		all = append(all, status)
	}
	return all
}

// about reports whether a variable belongs to a provider, even if it is not required.
func (p Provider) about(name string) bool {
	if matches(p.Passes, name) {
		return true
	}
	beginning, _, _ := strings.Cut(p.Passes[0], "_")
	return beginning != "GOOGLE" && strings.HasPrefix(name, beginning+"_")
}

// reason explains why a runtime does not get a variable of a provider.
func (p Policy) reason(of Provider, status ProviderStatus, name, runtimeName string) string {
	switch {
	case slices.Contains(p.Secrets, name):
		return "it is a secret of this server"
	case !status.Chosen:
		return of.Title + " is not chosen; it is with " + status.ChooseWith
	}
	return of.Title + " does not need it; HARNESS_RUNTIME_ENV_ALLOW=" + runtimeName + ":" + name + " passes it"
}

func lookupIn(environ []string) func(string) string {
	values := make(map[string]string, len(environ))
	for _, assignment := range environ {
		name, value, _ := strings.Cut(assignment, "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}
