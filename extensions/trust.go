package extensions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"harness/extensions/sdk"
)

// TrustStatus is the outcome of comparing an extension's registered and declared events.
type TrustStatus string

// The outcomes.
const (
	TrustAccepted         TrustStatus = "accepted"
	TrustAcceptedWarnings TrustStatus = "accepted_with_warnings"
	TrustRefused          TrustStatus = "denied"
)

// TrustEvaluation is the part of the listing about trust.
type TrustEvaluation struct {
	Mode     TrustMode   `json:"mode"`
	Status   TrustStatus `json:"status"`
	Warnings []string    `json:"warnings"`
	Errors   []string    `json:"errors"`
}

// evaluateTrust compares the registered events with the declared ones.
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

// mayAct reports whether an extension may request an action; reason is set for an undeclared one, allowed or not.
func mayAct(mode TrustMode, extension string, declared *Capabilities, actionType string) (allowed bool, reason string) {
	if mode == TrustDisabled || (declared != nil && declares(declared.Actions, actionType)) {
		return true, ""
	}
	return mode != TrustEnforced, fmt.Sprintf("extension %s attempted undeclared action capability: %s", extension,
		actionType)
}

// perform executes an action if the requester's manifest declares it. A job must be for the requester's own agent.
func (r *Registry) perform(ctx context.Context, declared *Capabilities, call ActionCall) sdk.EmitResult {
	refuse := func(status sdk.ActionStatus, details map[string]string) sdk.EmitResult {
		return sdk.EmitResult{Kind: sdk.ActionResult, ModuleName: call.ModuleName, ActionType: call.Request.ActionType,
			Status: string(status), RequestID: call.Request.RequestID, IdempotencyKey: call.Request.IdempotencyKey,
			Details: encode(details)}
	}
	allowed, reason := mayAct(r.opts.Trust.Mode, call.Extension, declared, call.Request.ActionType)
	if allowed && call.Request.ActionType == sdk.ActionQueueEnqueue {
		var job sdk.EnqueueInput
		_ = json.Unmarshal(call.Request.Payload, &job) // the executor refuses an invalid job
		ownAgent, why := r.mayInstruct(call.ModuleName, job)
		allowed = ownAgent
		if reason == "" {
			reason = why
		}
	}
	if !allowed {
		return refuse(sdk.Forbidden, map[string]string{"code": codeUndeclared, "reason": reason})
	}
	if reason != "" {
		r.opts.Logger.Warn().Str("module", call.ModuleName).Str("action", call.Request.ActionType).Msg(reason)
	}
	if r.opts.Actions == nil {
		return refuse(sdk.Failed, map[string]string{"code": codeNoExecutor, "message": "this server executes no actions"})
	}
	done := r.opts.Actions.Execute(ctx, call)
	if !sdk.ActionStatus(done.Status).Valid() {
		done.Status = string(sdk.Failed)
	}
	return done
}

// PerformForWorker executes an action from the answer of an agent's worker. The declarations of the agent's extension
// limit it like a handler's action; an agent without a loaded extension has no declarations.
func (r *Registry) PerformForWorker(ctx context.Context, agent string, call ActionCall) sdk.EmitResult {
	s := r.acquire()
	defer s.release()
	var declared *Capabilities
	if info := s.moduleOf(agent); info != nil {
		declared = &info.Capabilities
	}
	return r.perform(ctx, declared, call)
}

// mayInstruct reports whether a module may queue a job. The declarations of an agent's extension limit its worker, so
// no other extension may instruct it. reason is set for another extension's agent, whether or not the job is allowed.
func (r *Registry) mayInstruct(moduleName string, job sdk.EnqueueInput) (allowed bool, reason string) {
	var instruction struct {
		Agent string `json:"agent"`
	}
	if r.opts.Trust.Mode == TrustDisabled || json.Unmarshal(job.Payload, &instruction) != nil || instruction.Agent == "" {
		return true, ""
	}
	s := r.acquire()
	defer s.release()
	// In trust mode enforced, the worker of an agent without a loaded extension performs nothing.
	of := s.moduleOf(instruction.Agent)
	if of == nil || of.ModuleName == moduleName || of.AgentID == moduleName {
		return true, ""
	}
	return r.opts.Trust.Mode != TrustEnforced, fmt.Sprintf("module %s queues a job for agent %s, which is extension %s's",
		moduleName, instruction.Agent, of.Name)
}
