package tasks_test

import (
	"encoding/json"
	"strings"
	"testing"

	"harness/internal/services/tasks"
)

// order checks the required order of a session's events.
type order struct {
	t     *testing.T
	seq   int64
	tasks map[string]string // the state of each: started or over
	calls map[string]string // the last step of each attempt
	texts map[string]string // the sums of the deltas, by task and block
	last  string            // the type of the previous event
	asked map[string]int    // the number of open runtime requests of each task
}

// check checks events, from the first on, against the invariants of the task API.
func check(t *testing.T, events []tasks.Event) {
	t.Helper()
	o := &order{t: t, tasks: map[string]string{}, calls: map[string]string{}, texts: map[string]string{}, asked: map[string]int{}}
	for i, e := range events {
		o.take(e)
		o.bracket(e)
		o.last = e.Type
		if i == 0 && (e.Type != tasks.SessionCreated || !strings.Contains(string(e.Payload), tasks.ContractVersion)) {
			t.Errorf("the first event is %s %s", e.Type, e.Payload)
		}
	}
}

// before lists the possible previous steps of each step of a call.
var before = map[string][]string{
	tasks.CallRequested: {""},
	tasks.CallEvaluated: {tasks.CallRequested, tasks.CallEvaluated, tasks.CallStarted},
	tasks.CallApproved:  {tasks.CallEvaluated},
	tasks.CallDenied:    {tasks.CallEvaluated},
	tasks.CallStarted:   {tasks.CallApproved},
	tasks.CallOutput:    {tasks.CallStarted},
	tasks.CallSaid:      {tasks.CallStarted},
	tasks.CallCompleted: {tasks.CallStarted},
}

func (o *order) take(e tasks.Event) {
	o.t.Helper()
	o.seq++
	if e.Seq != o.seq || e.SchemaVersion != tasks.SchemaVersion || e.Time == "" || e.Runtime.Name == "" ||
		e.Trace.SessionID == "" || !json.Valid(e.Payload) || e.Payload[0] != '{' {
		o.t.Errorf("event %d is %+v", o.seq, e)
	}
	if e.Type == tasks.SessionCreated {
		if e.Seq != 1 {
			o.t.Errorf("session.created is event %d", e.Seq)
		}
		return
	}
	task := e.Trace.TaskID
	state := o.tasks[task]
	switch {
	case task == "":
		o.t.Errorf("%s is of no task", e.Type)
	case e.Type == tasks.TaskStarted && state == "":
		o.tasks[task] = "started"
		return
	case state != "started":
		o.t.Errorf("%s of a task that is %q", e.Type, state)
		return
	case e.Type == tasks.TaskCompleted || e.Type == tasks.TaskFailed || e.Type == tasks.TaskStopped:
		o.tasks[task] = "over"
		for id, step := range o.calls {
			if strings.HasPrefix(id, task+" ") && step != tasks.CallDenied && step != tasks.CallCompleted {
				o.t.Errorf("the task ends while %s is %s", id, step)
			}
		}
		return
	}
	o.call(task, e)
	o.text(task, e)
}

func (o *order) call(task string, e tasks.Event) {
	o.t.Helper()
	allowed, is := before[e.Type]
	if !is {
		return
	}
	var id struct {
		ID      string `json:"tool_call_id"`
		Attempt json.Number
		Hash    string `json:"input_hash"`
	}
	if err := json.Unmarshal(e.Payload, &id); err != nil || id.ID == "" || !strings.HasPrefix(id.Hash, "sha256:") {
		o.t.Errorf("%s: %v %s", e.Type, err, e.Payload)
	}
	key := task + " " + id.ID + " " + id.Attempt.String()
	last := o.calls[key]
	fits := false
	for _, one := range allowed {
		fits = fits || one == last
	}
	if !fits {
		o.t.Errorf("%s of %s after %q", e.Type, key, last)
	}
	if e.Type == tasks.CallOutput || e.Type == tasks.CallSaid || e.Type == tasks.CallEvaluated && last == tasks.CallStarted {
		return // it continues to run
	}
	o.calls[key] = e.Type
}

func (o *order) text(task string, e tasks.Event) {
	o.t.Helper()
	switch e.Type {
	case tasks.OutputDelta:
		var d struct {
			Block string `json:"block_id"`
			Delta string
		}
		if err := json.Unmarshal(e.Payload, &d); err != nil {
			o.t.Error(err)
		}
		o.texts[task+" "+d.Block] += d.Delta
	case tasks.OutputCompleted:
		var whole struct {
			Content []struct {
				Block string `json:"block_id"`
				Text  string
			}
		}
		if err := json.Unmarshal(e.Payload, &whole); err != nil {
			o.t.Error(err)
		}
		for _, b := range whole.Content {
			if said, grew := o.texts[task+" "+b.Block]; grew && said != b.Text {
				o.t.Errorf("block %s grew to %q and is %q", b.Block, said, b.Text)
			}
		}
	}
}

// bracket checks that a runtime request starts after its input and ends before its task, with nothing else between its
// end and the task's.
func (o *order) bracket(e tasks.Event) {
	o.t.Helper()
	switch e.Type {
	case tasks.RuntimeStarted:
		if o.last != tasks.ModelInput {
			o.t.Errorf("%s after %s", e.Type, o.last)
		}
		o.asked[e.Trace.TaskID]++
	case tasks.RuntimeCompleted:
		o.asked[e.Trace.TaskID]--
	case tasks.TaskCompleted, tasks.TaskFailed, tasks.TaskStopped:
		if o.asked[e.Trace.TaskID] != 0 || o.last == tasks.RuntimeStarted {
			o.t.Errorf("%s with %d requests to the runtime open, after %s", e.Type, o.asked[e.Trace.TaskID], o.last)
		}
	default:
		if o.last == tasks.RuntimeCompleted {
			o.t.Errorf("%s after %s", e.Type, o.last)
		}
	}
}
