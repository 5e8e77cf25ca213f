package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"harness/internal/services/tools"
)

// endWait limits how long a killed process may take to end.
const endWait = 5 * time.Second

// maxReport limits a line of a child: its result, or a chunk of output, in base64.
const maxReport = 64 << 20

// held describes how a sandbox starts and ends its processes.
type held struct {
	command []string
	// env is added to the small environment of the command; the confined process does not get it.
	env []string
	// bound limits the process before it gets its job. release undoes that after the process has ended. nil: the
	// command sets the limits itself.
	bound   func(pid int) error
	release func()
	// end is called to end the process, in addition to killing it; nil if killing is enough.
	end func()
}

// converse starts a child, sends it the job and reads its reports to the end. No process is left when converse returns.
func (h held) converse(ctx context.Context, given *assignment, said map[string]io.Writer) (output json.RawMessage,
	err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	process := exec.CommandContext(ctx, h.command[0], h.command[1:]...)
	process.Env = append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent"}, h.env...)
	process.WaitDelay = endWait
	process.Cancel = func() error {
		if h.end != nil {
			h.end()
		}
		return process.Process.Kill()
	}
	complaints := &tail{}
	process.Stderr = complaints
	stdin, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	output, err = h.readReports(process.Process.Pid, given, stdin, stdout, said)
	if err != nil {
		cancel() // its result is no longer needed
	}
	ended := process.Wait()
	if h.release != nil {
		h.release()
	}
	if err == nil && ended != nil {
		err = ended
	}
	var failed *tools.Error
	if err != nil && !errors.As(err, &failed) && complaints.String() != "" {
		err = fmt.Errorf("%w: %s", err, complaints)
	}
	return output, err
}

func (h held) readReports(pid int, given *assignment, stdin io.WriteCloser, stdout io.Reader, said map[string]io.Writer) (
	json.RawMessage, error) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, maxReport)
	began := false
	for lines.Scan() {
		var one report
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, errors.New("the process in the sandbox does not speak as it should")
		}
		switch {
		case began && one.Key != given.Key:
			// The job's own processes wrote it: it is not a report.
		case one.Ready && given == nil:
			return nil, stdin.Close()
		case one.Ready && !began:
			began = true
			if h.bound != nil {
				if err := h.bound(pid); err != nil {
					return nil, fmt.Errorf("bound the process: %w", err)
				}
			}
			if err := json.NewEncoder(stdin).Encode(given); err != nil {
				return nil, err
			}
		case !began:
			return nil, errors.New("the process in the sandbox speaks before it has a job")
		case one.Stream != "" && said[one.Stream] != nil:
			if _, err := said[one.Stream].Write(one.Data); err != nil {
				return nil, err
			}
		case one.Error != "":
			return nil, &tools.Error{Message: one.Error}
		case one.Output != nil:
			return one.Output, nil
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return nil, errors.New("the process in the sandbox ended without a result")
}

// try starts a child without a job.
func (h held) try(ctx context.Context) error {
	_, err := h.converse(ctx, nil, nil)
	return err
}

// tail keeps the end of a process's error output.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(chunk []byte) (int, error) {
	const most = 2000
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, chunk[max(0, len(chunk)-most):]...)
	t.kept = bytes.Clone(t.kept[max(0, len(t.kept)-most):])
	return len(chunk), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(strings.TrimSpace(string(t.kept)), "\uFFFD")
}

// known caches that a sandbox works. A failure is rechecked on each call: the operator may have installed the missing
// program.
type known struct {
	mu    sync.Mutex
	works bool
}

func (k *known) check(find func() error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.works {
		return nil
	}
	err := find()
	k.works = err == nil
	return err
}
