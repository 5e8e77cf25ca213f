package operations

import (
	"cmp"
	"fmt"

	"harness/internal/runtime"
)

// RuntimeStatus is the operator's status of a runtime.
type RuntimeStatus string

// The statuses of runtimes. Only RuntimeDisabled changes behavior; clients see them all.
const (
	RuntimeActive     RuntimeStatus = "active"
	RuntimePreview    RuntimeStatus = "preview"
	RuntimeDeprecated RuntimeStatus = "deprecated"
	RuntimeDisabled   RuntimeStatus = "disabled"
)

// RuntimeState is the current state of a runtime for clients.
type RuntimeState struct {
	Name    string
	Default bool
	// Offered is the operator's status, or RuntimeDisabled if the runtime's program is not on this machine (Missing).
	Offered      RuntimeStatus
	Missing      bool
	Status       runtime.Status
	Capabilities runtime.Capabilities
}

// DisabledRuntimeError refuses work for a runtime that the operator disabled.
type DisabledRuntimeError struct{ Runtime string }

// DisabledReason explains why a disabled runtime does nothing.
const DisabledReason = "the operator disabled it (HARNESS_RUNTIME_STATUS)"

// Error implements error.
func (e *DisabledRuntimeError) Error() string {
	return fmt.Sprintf("the %s runtime is disabled: %s", e.Runtime, DisabledReason)
}

// RuntimeStates returns the states of all runtimes, the default first, without querying any.
func (s *RuntimeAdmin) RuntimeStates() ([]RuntimeState, error) {
	var all []RuntimeState
	for _, name := range s.runtimeNames() {
		adapter, err := s.chosen(name)
		if err != nil {
			return nil, err
		}
		one := RuntimeState{Name: name, Default: name == s.DefaultRuntime(), Status: adapter.Status(),
			Capabilities: runtime.CapabilitiesOf(adapter)}
		one.Offered, one.Missing = s.offered(name, one.Status)
		all = append(all, one)
	}
	return all, nil
}

// offered returns the status of a runtime, and whether a missing program makes it RuntimeDisabled.
func (s *RuntimeAdmin) offered(name string, status runtime.Status) (word RuntimeStatus, missing bool) {
	word = cmp.Or(s.statuses[name], RuntimeActive)
	if word != RuntimeDisabled && status.State == runtime.StateUnavailable && status.Missing {
		return RuntimeDisabled, true
	}
	return word, false
}
