package v1

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"harness/api/calls"
	"harness/internal/lib/javascript"
	"harness/internal/services/tasks"
)

// taskBody is a task as clients see it.
type taskBody struct {
	SessionID string         `json:"session_id"`
	TaskID    string         `json:"task_id"`
	Status    tasks.Status   `json:"status"`
	LastSeq   *int64         `json:"last_seq"`
	TurnID    *string        `json:"turn_id"`
	CreatedAt *string        `json:"created_at"`
	StartedAt *string        `json:"started_at"`
	EndedAt   *string        `json:"ended_at"`
	Reason    string         `json:"reason,omitempty"`
	Failure   *tasks.Failure `json:"failure,omitempty"`
}

func viewTask(t tasks.Task) taskBody {
	view := taskBody{SessionID: t.SessionID, TaskID: t.ID, Status: t.Status.Shown(), CreatedAt: isoOf(t.CreatedAt),
		StartedAt: isoOf(t.StartedAt), EndedAt: isoOf(t.EndedAt)}
	if t.LastSeq > 0 {
		view.LastSeq = &t.LastSeq
	}
	if t.TurnID != "" {
		view.TurnID = &t.TurnID
	}
	if t.Outcome != nil {
		view.Reason, view.Failure = t.Outcome.Reason, t.Outcome.Failure
	}
	return view
}

func isoOf(at int64) *string {
	if at == 0 {
		return nil
	}
	text := javascript.ISOTime(at)
	return &text
}

func (s *Server) createTask(w http.ResponseWriter, r *http.Request) error {
	b, err := s.read(r, "messages", "task_id", "permission_mode", "runtime_config", "tool_manifest", "client_id",
		"request_id", "user_id", "allow_changed_sources")
	if err != nil {
		return err
	}
	task := tasks.Task{SessionID: sessionOf(r)}
	for _, err := range []error{
		b.runtimeConfig(),
		b.only("tool_manifest", "the operator selects the tools (HARNESS_TOOLS)", `[]`, `{}`),
	} {
		if err != nil {
			return err
		}
	}
	if task.Origin, err = originOf(w, b); err != nil {
		return err
	}
	if task.AllowChangedSources, err = b.flag("allow_changed_sources"); err != nil {
		return err
	}
	if task.ID, err = b.text("task_id"); err != nil {
		return err
	}
	if task.Mode, err = modeOf(b); err != nil {
		return err
	}
	if task.Messages, err = messagesOf(b["messages"]); err != nil {
		return err
	}
	made, err := s.opts.Tasks.Submit(r.Context(), task)
	if err != nil {
		return err
	}
	calls.About(r.Context(), made.SessionID, made.ID)
	status := "started"
	if made.Ahead > 0 {
		status = "queued"
	}
	return reply(w, http.StatusAccepted, struct {
		SessionID string `json:"session_id"`
		TaskID    string `json:"task_id"`
		Status    string `json:"status"`
		Ahead     int    `json:"ahead"`
	}{made.SessionID, made.ID, status, made.Ahead})
}

// messagesOf reads the messages of a task. Content is a list of blocks, or a string.
func messagesOf(raw json.RawMessage) ([]tasks.Message, error) {
	var given []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &given) != nil || len(given) == 0 {
		return nil, invalid("messages is required: a list of {role, content}")
	}
	all := make([]tasks.Message, 0, len(given))
	for i, m := range given {
		if !slices.Contains([]string{"user", "system", "assistant", "tool"}, m.Role) {
			return nil, invalid(fmt.Sprintf("messages[%d].role must be user, system, assistant or tool", i))
		}
		var text string
		var blocks []json.RawMessage
		switch {
		case json.Unmarshal(m.Content, &text) == nil && strings.TrimSpace(text) == "":
		case text != "":
			blocks = []json.RawMessage{javascript.MustEncode(map[string]string{"type": "text", "text": text})}
		case json.Unmarshal(m.Content, &blocks) != nil:
			return nil, invalid(fmt.Sprintf("messages[%d].content must be a string or a list of blocks", i))
		}
		if len(blocks) == 0 {
			return nil, invalid(fmt.Sprintf("messages[%d].content is empty", i))
		}
		for _, block := range blocks {
			if len(block) == 0 || block[0] != '{' {
				return nil, invalid(fmt.Sprintf("messages[%d].content has a block that is not an object", i))
			}
		}
		all = append(all, tasks.Message{Role: m.Role, Content: blocks})
	}
	return all, nil
}

func (s *Server) getTask(w http.ResponseWriter, r *http.Request) error {
	t, err := s.opts.Tasks.Get(r.Context(), sessionOf(r), r.PathValue("taskId"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, viewTask(t))
}

func (s *Server) listTasks(w http.ResponseWriter, r *http.Request) error {
	limit, err := count(r, "limit", 100, 1, 500)
	if err != nil {
		return err
	}
	found, err := s.opts.Tasks.List(r.Context(), sessionOf(r), int(limit))
	if err != nil {
		return err
	}
	views := make([]taskBody, 0, len(found))
	for _, t := range found {
		views = append(views, viewTask(t))
	}
	return reply(w, http.StatusOK, struct {
		Tasks []taskBody `json:"tasks"`
	}{views})
}

func (s *Server) stopTask(w http.ResponseWriter, r *http.Request) error {
	b, err := s.read(r, "reason", "client_id", "request_id", "user_id")
	if err != nil {
		return err
	}
	reason, err := b.text("reason")
	if err != nil {
		return err
	}
	by, err := originOf(w, b)
	if err != nil {
		return err
	}
	t, already, err := s.opts.Tasks.StopTask(r.Context(), sessionOf(r), r.PathValue("taskId"), tasks.Stop{Reason: reason, Origin: by})
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, struct {
		OK      bool         `json:"ok"`
		TaskID  string       `json:"task_id"`
		Status  tasks.Status `json:"status"`
		Already bool         `json:"already,omitempty"`
	}{true, t.ID, t.Status.Shown(), already})
}

func (s *Server) approve(w http.ResponseWriter, r *http.Request) error { return s.decide(w, r, true) }

func (s *Server) deny(w http.ResponseWriter, r *http.Request) error { return s.decide(w, r, false) }

func (s *Server) decide(w http.ResponseWriter, r *http.Request, allow bool) error {
	b, err := s.read(r, "attempt", "input_hash", "reason", "answers", "result", "client_id", "request_id", "user_id")
	if err != nil {
		return err
	}
	d := tasks.Decision{Allow: allow}
	if d.Origin, err = originOf(w, b); err != nil {
		return err
	}
	if !b.has("attempt") || !b.has("input_hash") || json.Unmarshal(b["attempt"], &d.Attempt) != nil ||
		json.Unmarshal(b["input_hash"], &d.InputHash) != nil {
		return invalid("attempt (number) and input_hash (string) are required")
	}
	if b.has("answers") {
		if b["answers"][0] != '{' {
			return invalid("answers must be an object of answers by question id")
		}
		d.Answers = b["answers"]
	}
	if d.Reason, err = b.text("reason"); err != nil {
		return err
	}
	if b.has("result") {
		result, err := b.text("result")
		if err != nil {
			return err
		}
		d.Result = &result
	}
	call := r.PathValue("toolCallId")
	decided, err := s.opts.Tasks.Decide(r.Context(), sessionOf(r), call, d, s.opts.Actor(r))
	if err != nil {
		return err
	}
	reaches := ""
	if decided.ReasonWaits {
		reaches = "next_message"
	}
	return reply(w, http.StatusOK, struct {
		OK      bool   `json:"ok"`
		CallID  string `json:"tool_call_id"`
		Reaches string `json:"reason_reaches,omitempty"`
	}{true, call, reaches})
}
