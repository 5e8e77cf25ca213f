package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"harness/client"
)

// interruptPatience bounds the request that interrupts a turn when the user cancels the command. The server responds
// when the turn has ended, which may take until a process ends.
const interruptPatience = 15 * time.Second

// turnFlags configure how a turn runs and how the command follows it.
type turnFlags struct{ model, effort, approve string }

func (f *turnFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.model, "model", "", "the model")
	cmd.Flags().StringVar(&f.effort, "effort", "", "effort of the model: none, minimal, low, medium, high or xhigh")
	OneOf(cmd, &f.approve, "approve", "ask", "how to answer approvals; without a terminal, ask declines them",
		"ask", "accept", "decline")
}

func (c *commands) run() *cobra.Command {
	var (
		turn  turnFlags
		in    newSession
		exist string
	)
	cmd := &cobra.Command{
		Use:   "run PROMPT",
		Short: "Start a session, send PROMPT and stream the answer: harness run \"make the tests pass\"",
		Long: "Start a session, send PROMPT and stream the answer. Approvals are asked for in the terminal. " +
			"The command ends with the turn.\nPROMPT - reads standard input.\n\n" +
			"Exit codes: 0 the turn completed, 1 an error before the turn, 2 invalid command line, 3 the turn failed,\n" +
			"4 the turn was interrupted (Ctrl-C interrupts it). -o json prints one object with sessionId, turnId, " +
			"status and text; -o jsonl every frame.",
		Args: ArgumentsError,
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.connect()
			if err != nil {
				return err
			}
			prompt, err := prompt(cmd, args[0])
			if err != nil {
				return err
			}
			session := exist
			for _, name := range []string{"cwd", "runtime", "approval-policy", "sandbox", "network", "worktree"} {
				if session != "" && cmd.Flags().Changed(name) {
					return usage("--%s needs a new session; it cannot be combined with --session", name)
				}
			}
			if session == "" {
				if session, err = c.begin(cmd, api, in, turn.model); err != nil {
					return err
				}
			}
			return c.watchTurn(cmd, api, session, prompt, turn)
		},
	}
	turn.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&exist, "session", "", "continue this session instead of starting one")
	flags.StringVar(&in.cwd, "cwd", "",
		"working folder on the server; a relative path is below its workspace (default: this folder)")
	flags.StringVar(&in.runtime, "runtime", "", "runtime of the new session (default: the server's default)")
	flags.BoolVar(&in.worktree, "worktree", false, "work in a new git worktree of the folder, on a branch of its own")
	OneOf(cmd, &in.policy, "approval-policy", "", "when the agent asks for approval", "untrusted", "on-failure", "on-request", "never")
	OneOf(cmd, &in.sandbox, "sandbox", "", "what the agent may change (default: workspace-write, if the runtime has it)",
		"read-only", "workspace-write", "danger-full-access")
	OneOf(cmd, &in.network, "network", "", "network access of the agent", "restricted", "enabled")
	return cmd
}

// newSession has the initial settings of a new session; for "" the server chooses.
type newSession struct {
	cwd, runtime, policy, sandbox, network string
	worktree                               bool
}

// begin creates the session of a run, and prints what the session may change: its working folder, unless the caller or
// the runtime sets something else.
func (c *commands) begin(cmd *cobra.Command, api *client.Client, in newSession, model string) (string, error) {
	if in.cwd == "" {
		var err error
		if in.cwd, err = os.Getwd(); err != nil {
			return "", fmt.Errorf("cannot find the current folder: %w", err)
		}
	}
	body := client.CreateSessionJSONRequestBody{
		Cwd: &in.cwd, Model: given[string](model), Runtime: given[string](in.runtime),
		ApprovalPolicy:    given[client.ApprovalPolicy](in.policy),
		FilesystemSandbox: given[client.FilesystemSandbox](in.sandbox), NetworkAccess: given[client.NetworkAccess](in.network),
	}
	if in.worktree {
		body.Worktree = &client.NewWorktree{}
	}
	if in.sandbox == "" {
		body.FilesystemSandbox = given[client.FilesystemSandbox]("workspace-write")
	}
	made, err := read[client.CreateSession200JSONResponseBody](api.CreateSession(cmd.Context(), nil, body))
	var refused *client.StatusError
	if in.sandbox == "" && errors.As(err, &refused) && refused.Code == "unsupported_control" {
		body.FilesystemSandbox = nil // the runtime has no such sandbox: use the server's default
		made, err = read[client.CreateSession200JSONResponseBody](api.CreateSession(cmd.Context(), nil, body))
	}
	if err != nil {
		return "", err
	}
	if !c.quiet && c.output == "" {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), c.painted(cmd.ErrOrStderr(), dim, fmt.Sprintf("session %s, sandbox %s",
			made.Session.SessionID, made.Session.SessionControls.FilesystemSandbox)))
	}
	return made.Session.SessionID, nil
}

// prompt returns the text to send; "-" means standard input.
func prompt(cmd *cobra.Command, text string) (string, error) {
	if text == "-" {
		read, err := io.ReadAll(cmd.InOrStdin())
		if err != nil {
			return "", fmt.Errorf("read the prompt: %w", err)
		}
		text = string(read)
	}
	if strings.TrimSpace(text) == "" {
		return "", usage("the prompt is empty")
	}
	return text, nil
}

// watchTurn sends a message and shows the output until its turn ends. If the user cancels, it interrupts the turn.
func (c *commands) watchTurn(cmd *cobra.Command, api *client.Client, session, prompt string, flags turnFlags) error {
	decide, err := c.newDecider(cmd, api, flags.approve)
	if err != nil {
		return err
	}
	w := &watcher{commands: c, out: cmd.OutOrStdout(), notes: cmd.ErrOrStderr(), decide: decide}
	w.start = func(ctx context.Context) (string, error) {
		return w.accepted(ctx, session, func(ctx context.Context) (string, error) {
			sent, err := read[client.SendSessionMessage202JSONResponseBody](api.SendSessionMessage(ctx, session, nil,
				client.SendSessionMessageJSONRequestBody{
					Text: prompt, Model: given[string](flags.model), Effort: given[client.Effort](flags.effort)}))
			if err == nil && sent.MessageID != nil {
				w.enterQueue(*sent.MessageID, sent.Position)
			}
			return sent.TurnID, err
		})
	}
	err = w.follow(cmd.Context(), api, session, "")
	if cmd.Context().Err() != nil && w.queued != "" {
		return fmt.Errorf("the message is queued and will be sent after the running turn; to remove it: "+
			"harness api DELETE /api/sessions/%s/queue/%s: %w", session, w.queued, cmd.Context().Err())
	}
	if cmd.Context().Err() != nil && w.turn != "" {
		w.endLine()
		return c.interrupt(cmd, api, session, w.turn)
	}
	if err != nil {
		return err
	}
	return w.ended()
}

// accepted sends a message and returns its turn. The server may have accepted a request even if the user canceled it.
// accepted therefore waits for the response, so that it can interrupt the turn.
func (w *watcher) accepted(ctx context.Context, session string, send func(context.Context) (string, error)) (turn string, err error) {
	sending, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		turn, err = send(sending)
	}()
	select {
	case <-answered:
		return turn, err
	case <-ctx.Done():
	}
	if !w.quiet {
		_, _ = fmt.Fprintln(w.notes, "Interrupting…")
	}
	defer time.AfterFunc(interruptPatience, giveUp).Stop()
	<-answered
	if sending.Err() != nil {
		return "", fmt.Errorf("no answer; the turn may still be running (harness sessions show %s): %w", session, err)
	}
	return turn, err
}

// interrupt ends a turn that its client no longer follows.
func (c *commands) interrupt(cmd *cobra.Command, api *client.Client, session, turn string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), interruptPatience)
	defer cancel()
	_, err := read[json.RawMessage](
		api.InterruptSessionTurn(ctx, session, client.InterruptSessionTurnJSONRequestBody{TurnID: &turn}))
	if err != nil && !isStatus(err, 409) { // the turn ended by itself in between
		return fmt.Errorf("couldn't interrupt; the turn is still running: %w", err)
	}
	return &ExitError{ExitTurnInterrupted, errors.New("interrupted")}
}

// isStatus reports whether the server refused with a status.
func isStatus(err error, status int) bool {
	var refused *client.StatusError
	return errors.As(err, &refused) && refused.Status == status
}
