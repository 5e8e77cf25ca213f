package extensions

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions/sdk"
	"harness/internal/lib/javascript"
	"harness/internal/runtime/wire"
)

// ConformanceReport says whether an extension behaves the same in every runtime profile, and if not, why. It has
// codex-manager's keys and more.
type ConformanceReport struct {
	GeneratedAt string           `json:"generatedAt"`
	CoreVersion int              `json:"coreVersion"`
	FixturePath string           `json:"fixturePath"`
	Profiles    []ConformanceRun `json:"profiles"`
	Movable     bool             `json:"portableExtension"`
	// Reasons say why the extension is not portable.
	Reasons []string `json:"reasons"`
}

// ConformanceRun is the result of an extension under one profile.
type ConformanceRun struct {
	ProfileID         string             `json:"profileId"`
	ProfileVersion    string             `json:"profileVersion"`
	Status            string             `json:"status"` // passed or failed
	LoadedModuleCount int                `json:"loadedModuleCount"`
	EnqueueStatus     *string            `json:"enqueueStatus"`
	EnqueueJobType    *string            `json:"enqueueJobType"`
	Errors            []string           `json:"errors"`
	Events            []ConformanceEvent `json:"events"`
}

// ConformanceEvent is an extension's answer to one event that it subscribes to.
type ConformanceEvent struct {
	Type    string           `json:"type"`
	Results []sdk.EmitResult `json:"results"`
}

// conformanceProfiles returns the two profiles of a conformance run. No runtime has the second profile, so an extension
// can rely only on the contract there.
func conformanceProfiles() []sdk.Profile {
	return []sdk.Profile{
		{RuntimeProfileID: "codex-manager", RuntimeProfileVersion: "1.0.0", CoreAPIVersion: sdk.AgentRuntimeCoreAPIVersion},
		{RuntimeProfileID: "fixture-profile", RuntimeProfileVersion: "1.0.0", CoreAPIVersion: sdk.AgentRuntimeCoreAPIVersion},
	}
}

// Conformance loads an extension's folder under two runtime profiles in trust mode enforced, emits a sample of each
// subscribed event, and compares the answers. The queue, session settings and actions are fakes, so nothing outside
// the extension changes.
func Conformance(ctx context.Context, folder string, hosts []Host, processAllowed []string) ConformanceReport {
	report := ConformanceReport{GeneratedAt: javascript.ISOTime(time.Now().UnixMilli()),
		CoreVersion: sdk.AgentRuntimeCoreAPIVersion, FixturePath: folder, Reasons: []string{}}
	for _, profile := range conformanceProfiles() {
		run := conformanceRun(ctx, folder, hosts, processAllowed, profile)
		report.Profiles = append(report.Profiles, run)
		for _, problem := range run.Errors {
			report.Reasons = append(report.Reasons, fmt.Sprintf("under profile %s: %s", run.ProfileID, problem))
		}
	}
	first, second := report.Profiles[0], report.Profiles[1]
	if len(report.Reasons) == 0 && string(encode(first.Events)) != string(encode(second.Events)) {
		report.Reasons = append(report.Reasons, "it answers the same events differently under the two profiles")
	}
	report.Movable = len(report.Reasons) == 0
	return report
}

func conformanceRun(ctx context.Context, folder string, hosts []Host, processAllowed []string,
	profile sdk.Profile) ConformanceRun {
	run := ConformanceRun{ProfileID: profile.RuntimeProfileID, ProfileVersion: profile.RuntimeProfileVersion,
		Status: "failed", Errors: []string{}, Events: []ConformanceEvent{}}
	bench := &pretended{}
	registry := New(Options{Roots: []Root{{Type: InstalledPackage, Path: folder}}, Hosts: hosts,
		Trust: TrustPolicy{Mode: TrustEnforced, ProcessAllowed: processAllowed}, Profile: profile, HandlerTimeout: 5 * time.Second, Jobs: bench,
		Settings: bench, Actions: bench, Logger: zerolog.Nop()})
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if err := registry.Close(closing); err != nil {
			run.Errors = append(run.Errors, err.Error())
		}
	}()
	result := registry.Reload(ctx, "conformance-"+profile.RuntimeProfileID)
	for _, problem := range result.Errors {
		run.Errors = append(run.Errors, string(problem.Code)+":"+problem.Message)
	}
	if result.Code != Reloaded {
		return run
	}
	run.LoadedModuleCount = len(result.Modules)
	if run.LoadedModuleCount == 0 {
		run.Errors = append(run.Errors, "there is no extension in this folder")
	}
	for _, module := range result.Modules {
		if len(module.Events) == 0 {
			run.Errors = append(run.Errors, module.Name+" subscribes to nothing")
		}
		for _, eventType := range module.Events {
			results := registry.Emit(ctx, SampleEvent(eventType), Scope{})
			run.Events = append(run.Events, ConformanceEvent{eventType, results})
			run.check(eventType, results)
		}
	}
	if len(run.Errors) == 0 {
		run.Status = "passed"
	}
	return run
}

// check records a handler's invalid answers.
func (c *ConformanceRun) check(eventType string, results []sdk.EmitResult) {
	for i := range results {
		result := &results[i]
		switch result.Kind {
		case sdk.HandlerError:
			c.Errors = append(c.Errors, fmt.Sprintf("%s: handler failed: %s", eventType, result.Error))
		case sdk.EnqueueResult:
			if c.EnqueueStatus == nil {
				c.EnqueueStatus, c.EnqueueJobType = &result.Status, &result.Job.Type
			}
		case sdk.ActionResult:
			if sdk.ClassifyReconciledActionStatus(sdk.ActionStatus(result.Status)) == sdk.FailedPath {
				c.Errors = append(c.Errors, fmt.Sprintf("%s: action %s is %s %s", eventType, result.ActionType, result.Status,
					result.Details))
			}
		}
	}
}

// SampleEvent returns an event of a type with a payload that follows the contract.
func SampleEvent(eventType string) *Event {
	about := eventContext{ProjectID: "sample-project", SourceSessionID: "sample-session", ThreadID: "sample-session",
		TurnID: "sample-turn", ItemID: "sample-item", ApprovalID: "sample-approval", AnchorItemID: "sample-item",
		UserRequest: "Add a file", TurnTranscript: "user " + wire.ItemUserMessage + ": Add a file"}
	var payload any
	switch eventType {
	case EventSuggestRequest:
		payload = SuggestRequest{RequestKey: "sample-request", SessionID: about.SourceSessionID, ProjectID: about.ProjectID,
			ThreadID: about.ThreadID, TurnID: about.TurnID, UserRequest: about.UserRequest, TurnTranscript: about.TurnTranscript}
	case EventTurnCompleted:
		payload = map[string]any{"context": about, "hadFileChangeRequests": true,
			"turnTranscriptSnapshot": about.TurnTranscript, "fileChangeRequestCount": 1}
	case EventFileChange:
		payload = map[string]any{"context": about, "summary": "File change awaits approval", "details": "{}",
			"sourceEvent": sourceRequest, "fileChangeStatus": "pending_approval"}
	default:
		payload = map[string]any{"source": "app_server", "signalType": "notification", "eventType": eventType,
			"method": "sample/method", "receivedAt": javascript.ISOTime(0),
			"context": map[string]any{"threadId": about.ThreadID, "turnId": about.TurnID}, "params": map[string]any{},
			"session": map[string]any{"id": about.ThreadID, "title": "Sample",
				"projectId": about.ProjectID}}
	}
	return &Event{Type: eventType, EmittedAt: javascript.ISOTime(0), CorrelationID: "sample", Payload: encode(payload)}
}

// pretended is a fake queue, settings and actions that change nothing.
type pretended struct {
	mu   sync.Mutex
	jobs int
}

// EnqueueJob implements Jobs.
func (p *pretended) EnqueueJob(_ context.Context, in sdk.EnqueueInput) (sdk.EnqueueOutcome, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jobs++
	return sdk.EnqueueOutcome{Status: sdk.Enqueued, Job: sdk.Job{ID: fmt.Sprintf("job-%d", p.jobs), Type: in.Type,
		ProjectID: in.ProjectID, State: "queued"}}, nil
}

// SessionSettings implements Settings.
func (*pretended) SessionSettings(context.Context, string) (map[string]json.RawMessage, error) {
	return map[string]json.RawMessage{}, nil
}

// Execute implements Actions.
func (*pretended) Execute(_ context.Context, call ActionCall) sdk.EmitResult {
	return sdk.EmitResult{Kind: sdk.ActionResult, ModuleName: call.ModuleName, ActionType: call.Request.ActionType,
		Status: string(sdk.Performed)}
}
