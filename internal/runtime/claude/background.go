package claude

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/process/commands"
)

// startedTask is background work in Claude Code's output.
type startedTask struct {
	ID          string `json:"task_id"`
	Type        string `json:"task_type"`
	Description string `json:"description"`
}

// working is remembered background work.
type working struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Command string `json:"command"`
	Turn    string `json:"turn,omitempty"`
	Call    string `json:"call,omitempty"`
	Began   int64  `json:"began"`
}

// stopTask is the task that a request should end.
type stopTask string

// kindOf returns the neutral kind of background work.
func (s startedTask) kind() string {
	switch {
	case strings.Contains(s.Type, "monitor"):
		return runtime.BackgroundMonitor
	case strings.Contains(s.Type, "bash") || strings.Contains(s.Type, "shell"):
		return runtime.BackgroundCommand
	default:
		return runtime.BackgroundAgent
	}
}

// backgroundChanged publishes the current background work.
func (t *translation) backgroundChanged(tasks []startedTask) {
	t.Background = len(tasks)
	now := make([]working, 0, len(tasks))
	for _, task := range tasks[:min(len(tasks), maxWorking)] {
		if task.ID == "" || len(task.ID) > runtime.MaxID {
			continue // the server could not end it
		}
		one := working{ID: task.ID, Kind: task.kind(), Command: cut(cmp.Or(task.Description, task.Type), maxText), Turn: t.Turn, Began: t.at}
		if i := slices.IndexFunc(t.Working, func(w working) bool { return w.ID == task.ID }); i >= 0 {
			one = t.Working[i]
		}
		now = append(now, one)
	}
	t.Working = now
	t.publishBackground()
}

// backgroundCalled stores the call that started background work: its command is more complete than its description.
func (t *translation) backgroundCalled(id, callID string) {
	i := slices.IndexFunc(t.Working, func(w working) bool { return w.ID == id })
	call := t.call(callID)
	if i < 0 || call == nil {
		return
	}
	t.Working[i].Call = callID
	if command := readInput(call.Input).Command; command != "" {
		t.Working[i].Command = cut(command, maxText)
	}
	t.publishBackground()
}

func (t *translation) publishBackground() {
	t.emit(runtime.Signal{Kind: runtime.SignalNotification, ThreadID: t.Thread,
		Change: runtime.BackgroundChanged{Tasks: tasksOf(t.Working)}})
}

func tasksOf(all []working) []runtime.BackgroundTask {
	tasks := make([]runtime.BackgroundTask, 0, len(all))
	for _, one := range all {
		tasks = append(tasks, runtime.BackgroundTask{ID: one.ID, Kind: one.Kind, Command: one.Command, TurnID: one.Turn,
			ItemID: one.Call, StartedAt: one.Began, CanEnd: true})
	}
	return tasks
}

// ListBackground implements runtime.Backgrounder.
func (r *Runtime) ListBackground(_ context.Context, in runtime.ResumeThread) ([]runtime.BackgroundTask, error) {
	_, spoken := r.speaking(in.ThreadID)
	if spoken == nil {
		return nil, nil
	}
	return tasksOf(spoken.now().working), nil
}

// speaking returns the process of a conversation with its protocol, nil when there is none.
func (r *Runtime) speaking(threadID string) (*process, *protocol) {
	t := r.known(threadID)
	if t == nil {
		return nil, nil
	}
	p := t.process()
	if p == nil || p.Current() == nil {
		return nil, nil
	}
	return p, p.spoken.Load()
}

// EndBackground implements runtime.Backgrounder. Claude Code starts no turn about a task that it stopped on request.
func (r *Runtime) EndBackground(ctx context.Context, in runtime.ResumeThread, id string) error {
	p, spoken := r.speaking(in.ThreadID)
	if spoken == nil {
		return runtime.ErrNoBackground
	}
	all := spoken.now().working
	found := slices.IndexFunc(all, func(w working) bool { return w.ID == id })
	if found < 0 {
		return runtime.ErrNoBackground
	}
	ended := all[found]
	line, done, err := p.Use(ctx)
	if err != nil {
		return err
	}
	defer done()
	if _, err := line.Call(ctx, r.setup.Supervise.CallTimeout, callStopTask, stopTask(id)); err != nil {
		if !spoken.works(id) {
			return runtime.ErrNoBackground // it ended before the request
		}
		return err
	}
	for {
		m := spoken.now()
		if !slices.ContainsFunc(m.working, func(w working) bool { return w.ID == id }) {
			break
		}
		select {
		case <-m.changed:
		case <-line.Gone():
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%w: Claude Code was asked to stop task %s and has not yet: %w", runtime.ErrTimeout, id, ctx.Err())
		}
	}
	return p.awaitEnd(ctx, spoken, ended)
}

const (
	// endPatience is how long the processes of a command may outlive its reported end, endStep the interval of the
	// check.
	endPatience = 5 * time.Second
	endStep     = 20 * time.Millisecond
)

// awaitEnd waits until the processes of ended background work are gone. Other work may have the same command: that
// many processes may stay.
func (p *process) awaitEnd(ctx context.Context, spoken *protocol, ended working) error {
	text := unquoted(ended.Command)
	if ended.Kind != runtime.BackgroundCommand || text == "" {
		return nil
	}
	status := p.Status()
	agent := commands.Process{Generation: status.Generation, Agent: status.PID}
	for began := time.Now(); ; {
		tasks, err := agent.Tasks("")
		if err != nil {
			return err
		}
		runs, others := 0, 0
		for _, task := range tasks {
			if strings.Contains(unquoted(task.Command), text) {
				runs++
			}
		}
		for _, other := range spoken.now().working {
			if strings.Contains(unquoted(other.Command), text) {
				others++
			}
		}
		if runs <= others {
			return nil
		}
		if time.Since(began) > endPatience {
			return fmt.Errorf("%w: Claude Code says that task %s has ended, and its command still runs", runtime.ErrTimeout, ended.ID)
		}
		select {
		case <-time.After(endStep):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unquoted returns a command without the additions of a shell that runs it for another one.
func unquoted(command string) string {
	return strings.NewReplacer(`'`, "", `"`, "", `\`, "").Replace(command)
}

// works reports whether background work is running.
func (p *protocol) works(id string) bool {
	return slices.ContainsFunc(p.now().working, func(w working) bool { return w.ID == id })
}

// RestartsFor implements runtime.Restarter.
func (r *Runtime) RestartsFor(in runtime.StartTurn) bool {
	_, spoken := r.speaking(in.ThreadID)
	if spoken == nil || spoken.now().background == 0 {
		return false
	}
	t := r.conversation(in.ThreadID, in.NativeID)
	t.mu.Lock()
	was := t.controls
	t.mu.Unlock()
	wanted, err := was.with(in)
	return err == nil && wanted != was
}
