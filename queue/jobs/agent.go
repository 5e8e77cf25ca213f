package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/queue"
)

// Options configure the job types. Sessions, Journal and Workers are required.
type Options struct {
	Sessions Sessions
	Journal  *journal.Journal
	Workers  *Workers
	// Actions executes the action_intents of workers; if nil, every intent is refused.
	Actions     ActionExecutor
	Suggestions *Suggestions
	// SuggestEnabled enables suggest_request.
	SuggestEnabled bool
	Timing         Timing
	// AttemptTimeout is the queue's default; an instruction gets at least three minutes.
	AttemptTimeout time.Duration
	// SuggestWait is the time that a suggestion may take before the fallback is stored.
	SuggestWait time.Duration
	// Clock is time.Now when nil.
	Clock  func() time.Time
	Logger zerolog.Logger
}

// leastTimeout is the minimum timeout of an attempt at an instruction, even if the queue's default is shorter.
const leastTimeout = 180 * time.Second

// agents runs instructions in worker sessions.
type agents struct {
	Options
	turns turns
}

// Definitions returns the job types: agent_instruction, and suggest_request if it is enabled.
func Definitions(options Options) []queue.Definition {
	if options.Clock == nil {
		options.Clock = time.Now
	}
	a := &agents{Options: options, turns: turns{sessions: options.Sessions, journal: options.Journal,
		timing: options.Timing, clock: options.Clock, log: options.Logger}}
	definitions := []queue.Definition{{
		Type: TypeAgentInstruction, Priority: queue.Interactive, Dedupe: queue.SingleFlight,
		Timeout: max(options.AttemptTimeout, leastTimeout), Validate: validateInstruction, Run: a.run, Retryable: retryable,
		Delay: queue.LinearDelay, Cancel: queue.InterruptTurn, Interrupt: a.interrupt, Resumable: true, OnStarted: a.started,
		OnTerminal: a.ended,
	}}
	if options.SuggestEnabled {
		definitions = append(definitions, a.suggestDefinition())
	}
	return definitions
}

// result is the result of an instruction.
type result struct {
	Status        string         `json:"status"`
	OutputText    string         `json:"outputText,omitempty"`
	ActionResults []ActionResult `json:"actionResults,omitempty"`
}

func (a *agents) run(ctx context.Context, run *queue.Run) (json.RawMessage, error) {
	in, err := parseInstruction(run.Job().Payload)
	if err != nil {
		return nil, err
	}
	var early chan struct{}
	if in.Completion != nil && a.Suggestions != nil {
		watching, cancel := context.WithCancel(ctx)
		defer cancel()
		early = make(chan struct{})
		ended := make(chan struct{})
		defer func() { cancel(); <-ended }()
		go func() {
			defer close(ended)
			a.Suggestions.waitOrFallBack(watching, in, a.SuggestWait, early)
		}()
	}
	text, completedEarly, err := a.instruct(ctx, run, in, early)
	switch {
	case err != nil:
		a.fallBack(ctx, run.Job(), in, err)
		return nil, err
	case completedEarly || in.Completion != nil && in.ExpectResponse == ExpectNone:
		return encode(result{Status: "ok"}), nil // its result is the suggestion
	}
	out := result{Status: "ok", OutputText: text}
	if in.ExpectResponse == ExpectText {
		run.Progress(encode(map[string]string{"outputText": clip(text)}))
	}
	if in.ExpectResponse == ExpectIntents {
		intents, err := parseIntents(text, in)
		if err == nil {
			out.ActionResults, err = a.act(ctx, run.Job().ID, intents)
		}
		if err != nil {
			a.fallBack(ctx, run.Job(), in, err)
			return nil, err
		}
		if !slices.ContainsFunc(out.ActionResults, performed) {
			out.ActionResults = append(out.ActionResults, a.fallBack(ctx, run.Job(), in, nil)...)
		}
	}
	return encode(out), nil
}

// fallbackTime bounds the fallback of an attempt that timed out.
const fallbackTime = 5 * time.Second

// fallBack executes the fallback actions if the worker returned no result. It does nothing if another attempt follows
// or the job was canceled.
func (a *agents) fallBack(ctx context.Context, job queue.Job, in Instruction, failure error) []ActionResult {
	again := failure != nil && job.Attempts < job.MaxAttempts && retryable(failure)
	called := ctx.Err() != nil && !errors.Is(context.Cause(ctx), queue.ErrTimeout)
	if len(in.FallbackIntents) == 0 || again || called {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fallbackTime)
	defer cancel()
	intents, err := checkIntents(in.FallbackIntents, in)
	var results []ActionResult
	if err == nil {
		results, err = a.act(ctx, job.ID, intents)
	}
	if err != nil {
		a.Logger.Warn().Err(err).Str("job", job.ID).Msg("a job's fallback could not be executed")
	}
	return results
}

func performed(result ActionResult) bool { return result.Status == "performed" }

// clip shortens a progress report to its limit; the result has the full text.
func clip(text string) string {
	const most = 4000
	if len(text) <= most {
		return text
	}
	return text[:most]
}

// act executes a worker's actions one after the other. If an action fails, its result says so and the job continues.
func (a *agents) act(ctx context.Context, jobID string, intents []Intent) ([]ActionResult, error) {
	results := make([]ActionResult, 0, len(intents))
	for _, intent := range intents {
		intent.JobID = jobID
		switch {
		case intent.refused != "":
			results = append(results, ActionResult{ActionType: intent.ActionType, Status: "forbidden",
				Details: encode(map[string]string{"message": intent.refused})})
			continue
		case a.Actions == nil:
			results = append(results, ActionResult{ActionType: intent.ActionType, Status: "failed",
				Details: encode(map[string]string{"message": "this server executes no actions"})})
			continue
		}
		outcome, err := a.Actions.Execute(ctx, intent)
		if err != nil {
			return nil, fmt.Errorf("execute %s: %w", intent.ActionType, err)
		}
		results = append(results, outcome)
	}
	return results, nil
}

// instruct runs an instruction in the owner's worker. It replaces a worker whose session no longer exists, once.
func (a *agents) instruct(ctx context.Context, run *queue.Run, in Instruction, early <-chan struct{}) (text string,
	completedEarly bool, err error) {
	policy, err := a.Workers.policy(in.Agent)
	if err != nil {
		return "", false, err
	}
	// A turn that an earlier process started resumes in its own session, even if the owner has another worker now.
	if before, resumed, err := a.turns.resume(ctx, run, stepJob); err != nil {
		return "", false, err
	} else if resumed {
		return a.carryOut(ctx, run, worker{owner: run.Job().ProjectID, agent: in.Agent, sessionID: before.SessionID},
			policy, in, early)
	}
	for attempt := 0; ; attempt++ {
		one, err := a.Workers.ensure(ctx, run.Job().ProjectID, in.Agent, in.SourceSessionID, policy, run.Checkpoint() != nil)
		if err != nil {
			return "", false, err
		}
		text, completedEarly, err = a.instructWorker(ctx, run, one, policy, in, early)
		if attempt > 0 || !stale(err) || run.Checkpoint() != nil { // with a checkpoint, the worker may have carried out the instruction
			return text, completedEarly, err
		}
		a.Logger.Warn().Err(err).Str("session", one.sessionID).Str("owner", one.owner).
			Msg("a worker's session is gone; the owner gets a new worker")
		if err := a.Workers.forget(ctx, one); err != nil {
			return "", false, err
		}
	}
}

func (a *agents) instructWorker(ctx context.Context, run *queue.Run, one worker, policy AgentPolicy, in Instruction,
	early <-chan struct{}) (text string,
	completedEarly bool, err error,
) {
	if err := a.prepare(ctx, run, &one, "orientation", policy.message(or(policy.Orientation, orientation(in.Agent)),
		policy.Prepare), orientationPhase(one)); err != nil {
		return "", false, err
	}
	if in.Bootstrap != nil {
		prompt := policy.message(in.Bootstrap.Text, policy.Prepare)
		if err := a.prepare(ctx, run, &one, "bootstrap:"+in.Bootstrap.Key, prompt,
			bootstrapPhase(one, in.Bootstrap.Key)); err != nil {
			return "", false, err
		}
	}
	return a.carryOut(ctx, run, one, policy, in, early)
}

// carryOut runs the instruction in a prepared worker.
func (a *agents) carryOut(ctx context.Context, run *queue.Run, one worker, policy AgentPolicy, in Instruction,
	early <-chan struct{}) (text string,
	completedEarly bool, err error,
) {
	turns := a.turns
	if policy.TurnTimeout > 0 {
		turns.timing.Turn = policy.TurnTimeout
	}
	message := policy.message(in.Text, policy.Instruct)
	message.Effort = or(in.Effort, message.Effort)
	if in.Model != "" {
		message.Model = &in.Model
	}
	err = a.noted(ctx, one, jobPhase(run.Job().ID, in), func(began func(step)) error {
		o := order{step: stepJob, sessionID: one.sessionID, message: message, early: early}
		o.began = func(s step) error {
			// The turn exists, so it is stored even if the attempt was abandoned in between.
			err := run.SetContext(context.WithoutCancel(ctx), one.sessionID, s.TurnID, encode(s))
			began(s)
			return err
		}
		turnID, err := turns.run(ctx, run, o)
		if err != nil {
			return err
		}
		select {
		case <-early:
			completedEarly = true
			return nil
		default:
		}
		text, err = a.turns.text(ctx, one.sessionID, turnID, in.ExpectResponse != ExpectNone)
		return err
	})
	return text, completedEarly, err
}

// prepare sends a worker an instruction that it needs once.
func (a *agents) prepare(ctx context.Context, run *queue.Run, one *worker, key string, message session.Message,
	p phase) error {
	if slices.Contains(one.prepared, key) {
		return nil
	}
	err := a.noted(ctx, *one, p, func(began func(step)) error {
		o := order{step: key + "@" + one.sessionID, sessionID: one.sessionID, message: message}
		o.began = func(s step) error {
			err := run.SetCheckpoint(context.WithoutCancel(ctx), encode(s))
			began(s)
			return err
		}
		_, err := a.turns.run(ctx, run, o)
		return err
	})
	if err != nil {
		return fmt.Errorf("prepare a worker (%s): %w", key, err)
	}
	return a.Workers.recordPrompt(ctx, one, key)
}

// orientation returns the first prompt of a worker.
func orientation(agent string) string {
	return "# Worker orientation\n\nYou are the hidden worker session of the agent \"" + agent +
		"\". No person reads this conversation.\n\n" +
		"- Each message is one job. Do what it says and nothing else.\n- When a job names a form for the answer, answer in exactly that form.\n" +
		"- Do not ask questions: no one will answer. Approvals are declined.\n\nRespond with exactly READY."
}

// interrupt ends the turn of a canceled job.
func (a *agents) interrupt(ctx context.Context, job queue.Job) error {
	if job.ThreadID == nil || job.TurnID == nil {
		return nil // no turn yet: the job's own context ends it
	}
	_, err := a.Sessions.Interrupt(ctx, *job.ThreadID, *job.TurnID)
	if errors.Is(err, session.ErrNoActiveTurn) || errors.Is(err, session.ErrWrongTurn) {
		return nil
	}
	return err
}

func (a *agents) started(ctx context.Context, tx database.Tx, job queue.Job) ([]journal.Event, error) {
	in, readable := readInstruction(job)
	if !readable {
		return nil, nil // the job ends as invalid_payload
	}
	return announceTargets(ctx, tx, a.Sessions, job, in)
}

// ended settles the transcript entries that the job promised, in the transaction that ends it.
func (a *agents) ended(ctx context.Context, tx database.Tx, job queue.Job) ([]journal.Event, error) {
	in, readable := readInstruction(job)
	if !readable {
		return nil, nil // an unreadable payload promises nothing
	}
	events, err := settleTargets(ctx, tx, a.Sessions, job, in)
	if err != nil {
		return nil, err
	}
	output, err := settleOutput(ctx, tx, a.Sessions, job, in)
	if err != nil || in.Completion == nil || a.Suggestions == nil {
		return append(events, output...), err
	}
	// Otherwise callers would wait forever for the missing suggestion.
	suggested, err := a.storeSuggestion(ctx, tx, in.SourceSessionID, in.Completion.RequestKey,
		finalSuggestion(job, FallbackSuggestion(in.FallbackDraft)))
	return append(append(events, output...), suggested...), err
}

func readInstruction(job queue.Job) (in Instruction, readable bool) {
	in, err := parseInstruction(job.Payload)
	return in, err == nil
}
