package sessions

import (
	"context"

	"harness/api/rest"
	"harness/internal/runtime"
)

// sourceView is the current state of a file that a session's agent reads by itself. A removed file has its last
// state.
type sourceView struct {
	runtime.Source
	// State is same, changed, added or removed since the session started, or unknown. Began is the state at that time.
	State string       `json:"state"`
	Began *beganSource `json:"began"`
}

type beganSource struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func (s *sessions) readSources(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	sources, err := s.reader.Sources(ctx, in.SessionID())
	if err != nil {
		return rest.Reply{}, err
	}
	body := struct {
		SessionID       string       `json:"sessionId"`
		ImplicitSources *string      `json:"implicitSources"`
		Choices         []string     `json:"choices"`
		Data            []sourceView `json:"data"`
	}{in.SessionID(), rest.TextOrNull(sources.Implicit), sources.Choices, make([]sourceView, len(sources.Files))}
	for i, file := range sources.Files {
		body.Data[i] = sourceView{Source: file.Source, State: file.State}
		if file.Began != nil {
			body.Data[i].Began = &beganSource{file.Began.Bytes, file.Began.SHA256}
		}
	}
	return rest.OK(body)
}
