package extensions

import (
	"fmt"
	"slices"
)

// TrustStatus is the outcome of weighing what an extension registered against what it declared.
type TrustStatus string

// The outcomes.
const (
	TrustAccepted         TrustStatus = "accepted"
	TrustAcceptedWarnings TrustStatus = "accepted_with_warnings"
	TrustRefused          TrustStatus = "denied"
)

// TrustEvaluation is shown in the listing.
type TrustEvaluation struct {
	Mode     TrustMode   `json:"mode"`
	Status   TrustStatus `json:"status"`
	Warnings []string    `json:"warnings"`
	Errors   []string    `json:"errors"`
}

// evaluateTrust weighs the registered events against the declared ones.
func evaluateTrust(mode TrustMode, extension string, declared *Capabilities, registered []string) TrustEvaluation {
	evaluation := TrustEvaluation{Mode: mode, Status: TrustAccepted, Warnings: []string{}, Errors: []string{}}
	if mode == TrustDisabled {
		return evaluation
	}
	complain := func(format string, args ...any) {
		message := fmt.Sprintf(format, args...)
		if mode == TrustEnforced {
			evaluation.Errors = append(evaluation.Errors, message)
			evaluation.Status = TrustRefused
			return
		}
		evaluation.Warnings = append(evaluation.Warnings, message)
		evaluation.Status = TrustAcceptedWarnings
	}
	if declared == nil {
		complain("extension %s has no manifest capabilities declaration", extension)
		declared = &Capabilities{}
	}
	for _, event := range registered {
		if !declares(declared.Events, event) {
			complain("extension %s registered undeclared event capability: %s", extension, event)
		}
	}
	return evaluation
}

func declares(list []string, name string) bool {
	return slices.Contains(list, name) || slices.Contains(list, "*")
}

// mayAct tells whether an extension may ask for an action; reason is set when it did not declare it, allowed or not.
func mayAct(mode TrustMode, extension string, declared *Capabilities, actionType string) (allowed bool, reason string) {
	if mode == TrustDisabled || (declared != nil && declares(declared.Actions, actionType)) {
		return true, ""
	}
	return mode != TrustEnforced, fmt.Sprintf("extension %s attempted undeclared action capability: %s", extension, actionType)
}
