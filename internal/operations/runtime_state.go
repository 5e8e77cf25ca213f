package operations

import (
	"cmp"
	"fmt"

	"harness/internal/runtime"
)

// RuntimeStatus is whether a runtime may be used, as its operator says.
type RuntimeStatus string

// The statuses of runtimes. All but RuntimeDisabled work alike; clients are told.
const (
	RuntimeActive     RuntimeStatus = "active"
	RuntimePreview    RuntimeStatus = "preview"
	RuntimeDeprecated RuntimeStatus = "deprecated"
	RuntimeDisabled   RuntimeStatus = "disabled"
)

// RuntimeState is what a runtime is to clients now.
type RuntimeState struct {
	Name    string
	Default bool
	// Offered is the operator's word, or RuntimeDisabled for a runtime whose program is not on this machine (Missing).
	Offered      RuntimeStatus
	Missing      bool
	Status       runtime.Status
	Capabilities runtime.Capabilities
}

// DisabledRuntimeError refuses what would be done by a runtime that the operator switched off.
type DisabledRuntimeError struct{ Runtime string }

// DisabledReason is why a disabled runtime does nothing.
const DisabledReason = "the operator switched it off (HARNESS_RUNTIME_STATUS)"

// Error implements error.
func (e *DisabledRuntimeError) Error() string {
	return fmt.Sprintf("the %s runtime is disabled: %s", e.Runtime, DisabledReason)
}

// RuntimeStates are those of all runtimes, the default one first. Nothing is asked of any.
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

// offered is the word on a runtime, and whether that is RuntimeDisabled for want of its program.
func (s *RuntimeAdmin) offered(name string, status runtime.Status) (word RuntimeStatus, missing bool) {
	word = cmp.Or(s.statuses[name], RuntimeActive)
	if word != RuntimeDisabled && status.State == runtime.StateUnavailable && status.Missing {
		return RuntimeDisabled, true
	}
	return word, false
}
