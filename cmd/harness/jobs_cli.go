package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"harness/cmd/harness/remote"
)

// newJobs makes the operator's commands for the job queue of a running server.
func newJobs() *cobra.Command {
	cmd := newGroup("jobs", "List, show, cancel and wait for jobs of a running server")
	var server remote.Connection
	server.AddFlags(cmd.PersistentFlags())
	one := func(use, short string, do func(*cobra.Command, *jobsClient, string) error) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				base, token, err := server.Find(localServer)
				if err != nil {
					return err
				}
				return do(cmd, &jobsClient{base: base, token: token}, args[0])
			}}
	}
	var state string
	list := one("list PROJECT", "List a project's jobs; PROJECT is a project id or session:<session id>",
		func(cmd *cobra.Command, c *jobsClient, project string) error {
			return c.list(cmd.Context(), cmd.OutOrStdout(), project, state)
		})
	remote.OneOf(list, &state, "state", "", "only jobs in this state", "queued", "running", "completed", "failed", "canceled")
	show := one("show JOB", "Print a job as JSON", func(cmd *cobra.Command, c *jobsClient, id string) error {
		job, err := c.job(cmd.Context(), id)
		if err != nil {
			return err
		}
		return printJSON(cmd.OutOrStdout(), job.raw)
	})
	cancel := one("cancel JOB", "Cancel a job", func(cmd *cobra.Command, c *jobsClient, id string) error {
		job, err := c.cancel(cmd.Context(), id)
		if err != nil {
			return err
		}
		return printJSON(cmd.OutOrStdout(), job.raw)
	})
	var timeout time.Duration
	wait := one("wait JOB", "Wait until a job is over; exit 0 when it completed",
		func(cmd *cobra.Command, c *jobsClient, id string) error {
			return c.wait(cmd.Context(), cmd.OutOrStdout(), id, timeout)
		})
	wait.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "longest time to wait")
	cmd.AddCommand(list, show, cancel, wait)
	return cmd
}

// jobsClient sends requests to a server's job routes.
type jobsClient struct{ base, token string }

// shownJob has the fields that the commands use; raw is the job as the server sent it.
type shownJob struct {
	ID, Type, State, Priority, CreatedAt string
	Error                                *string
	Attempts, MaxAttempts                int
	raw                                  json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (j *shownJob) UnmarshalJSON(raw []byte) error {
	type plain shownJob
	if err := json.Unmarshal(raw, (*plain)(j)); err != nil {
		return err
	}
	j.raw = append(json.RawMessage(nil), raw...)
	return nil
}

func (j shownJob) over() bool {
	return j.State == "completed" || j.State == "failed" || j.State == "canceled"
}

// ask sends a request and decodes its response into out; a response other than 200 becomes an error that names it.
func (c *jobsClient) ask(ctx context.Context, method, path string, out any) (err error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return err
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("no server answers at %s (start one with `harness serve`, or name another with --url): %w",
			c.base, err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.base, err)
	}
	if response.StatusCode != http.StatusOK {
		return refusal(response.StatusCode, body)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("the answer of %s is not the job API's: %w", c.base, err)
	}
	return nil
}

func refusal(status int, body []byte) error {
	var answer struct {
		Status, Message string
		Job             *shownJob
	}
	_ = json.Unmarshal(body, &answer) // a proxy's error page has no message of the server
	switch {
	case answer.Status == "not_found":
		return errors.New("there is no such job (finished ones are kept for a while only)")
	case answer.Job != nil:
		return fmt.Errorf("the job is already %s", answer.Job.State)
	case answer.Message != "":
		return fmt.Errorf("the server refused: %s (%d)", answer.Message, status)
	}
	return fmt.Errorf("the server answered %d %s", status, http.StatusText(status))
}

func (c *jobsClient) job(ctx context.Context, id string) (shownJob, error) {
	var answer struct{ Job shownJob }
	err := c.ask(ctx, http.MethodGet, "/api/orchestrator/jobs/"+url.PathEscape(id), &answer)
	return answer.Job, err
}

func (c *jobsClient) cancel(ctx context.Context, id string) (shownJob, error) {
	var answer struct{ Job shownJob }
	err := c.ask(ctx, http.MethodPost, "/api/orchestrator/jobs/"+url.PathEscape(id)+"/cancel", &answer)
	return answer.Job, err
}

func (c *jobsClient) list(ctx context.Context, out io.Writer, project, state string) error {
	path := "/api/projects/" + url.PathEscape(project) + "/orchestrator/jobs"
	if state != "" {
		path += "?state=" + url.QueryEscape(state)
	}
	var answer struct{ Data []shownJob }
	if err := c.ask(ctx, http.MethodGet, path, &answer); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "ID\tTYPE\tSTATE\tPRIORITY\tATTEMPTS\tCREATED\tERROR")
	for _, job := range answer.Data {
		reason := ""
		if job.Error != nil {
			reason = *job.Error
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d/%d\t%s\t%s\n", job.ID, job.Type, job.State, job.Priority, job.Attempts,
			job.MaxAttempts, job.CreatedAt, reason)
	}
	return table.Flush()
}

// waitEvery is the interval at which a wait polls. A job is a model turn of seconds, so polling costs less than a
// stream.
const waitEvery = 500 * time.Millisecond

func (c *jobsClient) wait(ctx context.Context, out io.Writer, id string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(waitEvery)
	defer tick.Stop()
	for {
		job, err := c.job(ctx, id)
		if err != nil {
			return err
		}
		if job.over() {
			if err := printJSON(out, job.raw); err != nil || job.State == "completed" {
				return err
			}
			return fmt.Errorf("the job is %s", job.State)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the job is still %s: %w", job.State, ctx.Err())
		}
	}
}
