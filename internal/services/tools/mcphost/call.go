package mcphost

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"harness/internal/services/tools"
)

// call handles calls of every tool.
func (h *Host) call(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if request.Extra == nil {
		return nil, errGone
	}
	caller, waits := h.waiting(request.Extra.Header.Get(callHeader))
	if !waits {
		return nil, errGone
	}
	// The call lives as long as its caller waits: it ends with the request, or when the agent cancels it.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(caller, cancel)()
	defer h.progress(ctx, request)()

	outcome, err := h.do(ctx, request)
	switch {
	case ctx.Err() != nil:
		return nil, errGone
	case errors.Is(err, ErrNoGrant):
		return failed("this session has no tools: " + err.Error()), nil
	case err != nil:
		h.opts.Logger.Error().Err(err).Str("tool", request.Params.Name).Msg("a call of a tool could not be carried out")
		return failed("the server could not carry out the call; nothing was run, or what ran could not be recorded: " +
			err.Error()), nil
	case outcome.IsError:
		return failed(reason(outcome.Output)), nil
	}
	// Some agents read the text, others the structure: both have the same content.
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(outcome.Output)}},
		StructuredContent: outcome.Output}, nil
}

func (h *Host) do(ctx context.Context, request *mcp.CallToolRequest) (tools.Outcome, error) {
	id, session, err := h.find(ctx, bearer(request.Extra.Header))
	if err != nil {
		return tools.Outcome{}, err
	}
	input := request.Params.Arguments
	if len(input) == 0 || string(input) == "null" {
		input = json.RawMessage("{}")
	}
	leave, err := h.places.take(ctx, id, session.MaxCalls)
	if err != nil {
		return tools.Outcome{}, err
	}
	defer leave()
	call := tools.Call{SessionID: id, TurnID: session.TurnID, Epoch: session.Epoch, NativeID: nativeID(request.Params.Meta),
		Tool: request.Params.Name, Input: input, Workspace: session.Workspace}
	return h.opts.Executor.Do(ctx, call, session.Policy, nil)
}

// find returns the session of a bearer. It returns a refusal only once the rows that it read may be shown; the outcome
// of a call is recorded after all its reads.
func (h *Host) find(ctx context.Context, token string) (id string, session Session, err error) {
	ctx = h.opts.Reads.Reading(ctx)
	id, _, err = h.opts.Grants.Session(ctx, token)
	if err == nil && id == "" {
		err = ErrNoGrant
	}
	if err == nil {
		if session, err = h.opts.Session(ctx, id); err != nil {
			err = fmt.Errorf("session %s: %w", id, err)
		}
	}
	if err != nil {
		err = cmp.Or(h.opts.Reads.Settled(ctx), err)
	}
	return id, session, err
}

// nativeID returns the runtime's id of the call, "" if unknown: Claude Code and codex send one.
func nativeID(meta mcp.Meta) string {
	for _, key := range []string{"claudecode/toolUseId", "callId"} {
		if id, is := meta[key].(string); is {
			return id
		}
	}
	return ""
}

func failed(message string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: message}}, IsError: true}
}

// reason returns the message of a failed outcome.
func reason(output json.RawMessage) string {
	var said struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(output, &said); err != nil {
		return string(output)
	}
	return said.Error
}

// progress reports to the agent at intervals that its call is pending, until the caller calls stop.
func (h *Host) progress(ctx context.Context, request *mcp.CallToolRequest) (stop func()) {
	token := request.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(h.opts.Progress)
		defer ticker.Stop()
		for count := 1; ; count++ {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			err := request.Session.NotifyProgress(ctx,
				&mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(count),
					Message: "the call waits for a decision, or runs"})
			if err != nil && ctx.Err() == nil {
				h.opts.Logger.Debug().Err(err).Msg("cannot report to an agent that its call still waits")
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
