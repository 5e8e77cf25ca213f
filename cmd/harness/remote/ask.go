package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"harness/client"
)

// decider answers a runtime's requests: by a person at the terminal, or by a rule.
type decider struct {
	*commands
	api *client.Client
	// rule is accept or decline; with ask the person decides.
	rule string
	out  io.Writer
	// lines receives the lines typed while the command asks; it is closed at the end of the input.
	lines  chan string
	asking atomic.Bool
}

// errNoAnswer reports that the input has ended, so the person cannot answer.
var errNoAnswer = errors.New("end of input")

// newDecider reads the terminal if the rule is ask. A script has no person to ask, so it has to name a rule.
func (c *commands) newDecider(cmd *cobra.Command, api *client.Client, rule string) (*decider, error) {
	d := &decider{commands: c, api: api, rule: rule, out: cmd.ErrOrStderr()}
	switch rule {
	case "accept", "decline":
		return d, nil
	case "ask":
	default:
		return nil, usage("--approve must be ask, accept or decline, not %s", rule)
	}
	if !c.terminal(cmd.InOrStdin()) {
		d.rule = "decline"
		return d, nil
	}
	d.lines = make(chan string, 1)
	go d.read(cmd.InOrStdin()) // a read of the terminal cannot be canceled: it ends with the process
	return d, nil
}

// read passes on typed lines as answers. It drops lines that were typed while the command asked nothing: they would
// decide about a request that no person has seen.
func (d *decider) read(terminal io.Reader) {
	defer close(d.lines)
	input := bufio.NewScanner(terminal)
	for input.Scan() {
		if d.asking.CompareAndSwap(true, false) {
			d.lines <- input.Text()
		}
	}
}

// line prompts for a line; errNoAnswer at the end of the input.
func (d *decider) line(ctx context.Context, prompt string) (string, error) {
	d.asking.Store(true)
	_, _ = fmt.Fprint(d.out, d.painted(d.out, bold, prompt))
	select {
	case line, typed := <-d.lines:
		if !typed {
			_, _ = fmt.Fprintln(d.out)
			return "", errNoAnswer
		}
		return strings.TrimSpace(line), nil
	case <-ctx.Done():
		_, _ = fmt.Fprintln(d.out)
		return "", ctx.Err()
	}
}

// approval answers one approval.
func (d *decider) approval(ctx context.Context, asked client.Approval) error {
	body := client.DecideApprovalJSONRequestBody{Decision: client.Decision(d.rule)}
	what := harmless(asked.Summary)
	if command, is := asked.Details["command"].(string); is && command != asked.Summary {
		what += "\n  " + harmless(command)
	}
	d.say("%s %s", d.painted(d.out, yellow, "approval "+asked.ApprovalID+":"), what)
	if d.rule == "ask" {
		answer, err := d.line(ctx, "  Approve? [y]es, [s]ession, [n]o, or type what to do instead: ")
		if err != nil {
			return err
		}
		switch strings.ToLower(answer) {
		case "y", "yes":
			body.Decision = client.Decision("accept")
		case "s", "session", "a", "always":
			body.Decision = client.Decision("accept")
			body.Scope = given[client.DecideApprovalJSONBodyScope]("session")
		case "n", "no", "":
			body.Decision = client.Decision("decline")
		default:
			body.Decision, body.Message = client.Decision("decline"), given[client.Reason](answer)
		}
	}
	d.say("  %sd", strings.TrimSuffix(string(body.Decision), "e")+"e")
	_, err := read[json.RawMessage](d.api.DecideApproval(ctx, asked.ApprovalID, nil, body))
	return d.settled(err)
}

// question is a runtime's question.
type question struct {
	ID, Header, Question string
	Options              []struct{ Label, Description string }
	Multiple             bool
}

// answers converts a line to answers: the text, or the option with that number. If several answers are allowed, a line
// of numbers gives several options, and a JSON list of texts gives several free answers.
func (q question) answers(line string) []string {
	if label, is := q.option(line); is || !q.Multiple {
		return []string{label}
	}
	var texts, chosen []string
	if json.Unmarshal([]byte(line), &texts) == nil {
		return texts
	}
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ',' || r == ' ' }) {
		label, is := q.option(word)
		if !is { // a text, not numbers alone
			return []string{line}
		}
		chosen = append(chosen, label)
	}
	return chosen
}

// option returns the option with that number, or the text itself if no such option exists.
func (q question) option(text string) (label string, is bool) {
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n <= len(q.Options) {
		return q.Options[n-1].Label, true
	}
	return text, false
}

// questions answers a runtime's questions.
func (d *decider) questions(ctx context.Context, payload json.RawMessage) error {
	var asked struct {
		RequestID string
		Questions []question
	}
	if err := json.Unmarshal(payload, &asked); err != nil {
		return fmt.Errorf("cannot read questions: %w", err)
	}
	body := client.DecideToolInputJSONRequestBody{Decision: client.Decision("decline")}
	answers := map[string]map[string][]string{}
	for _, q := range asked.Questions {
		d.say("%s %s", d.painted(d.out, yellow, "question:"), harmless(q.Question))
		for i, option := range q.Options {
			d.say("  %d  %s  %s", i+1, harmless(option.Label), harmless(option.Description))
		}
		if d.rule != "ask" {
			continue
		}
		prompt := "  answer: "
		if q.Multiple {
			prompt = "  answers (numbers, or a JSON list of texts): "
		}
		line, err := d.line(ctx, prompt)
		if err != nil {
			return err
		}
		answers[q.ID] = map[string][]string{"answers": q.answers(line)}
		body.Decision = client.Decision("accept")
	}
	encoded, err := json.Marshal(struct {
		client.DecideToolInputJSONRequestBody
		Answers map[string]map[string][]string `json:"answers,omitempty"`
	}{body, answers})
	if err != nil {
		return err
	}
	_, err = read[json.RawMessage](d.api.DecideToolInputWithBody(ctx, asked.RequestID, nil, "application/json",
		strings.NewReader(string(encoded))))
	return d.settled(err)
}

// toolCall refuses a call of a client's tool: the command line has no tools.
func (d *decider) toolCall(ctx context.Context, payload json.RawMessage) error {
	var asked struct{ RequestID, Tool string }
	if err := json.Unmarshal(payload, &asked); err != nil {
		return fmt.Errorf("cannot read a tool call: %w", err)
	}
	d.say("declined the call of %s: this command has no tools", oneLine(asked.Tool, 60))
	_, err := read[json.RawMessage](d.api.RespondToolCallWithBody(ctx, asked.RequestID, nil, "application/json",
		strings.NewReader(`{"success":false,"text":"the command line has no such tool"}`)))
	return d.settled(err)
}

// settled ignores the error of a request that another client answered first.
func (d *decider) settled(err error) error {
	if isStatus(err, 404) {
		d.say("  already decided by another client, or expired")
		return nil
	}
	return err
}

func (d *decider) say(format string, values ...any) {
	if !d.quiet || d.rule == "ask" {
		_, _ = fmt.Fprintf(d.out, format+"\n", values...)
	}
}
