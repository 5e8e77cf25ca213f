package manager

import (
	"cmp"
	"context"
	"slices"

	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/registry"
	"harness/internal/services/session/store"
)

// Sources lists the files that a session's agent reads without a request, and their changes since the session began.
// Errors are those of Lookup, *NotOwnerError, and runtime.ErrUnavailable for a runtime that this server does not have.
func (s *Conversations) Sources(ctx context.Context, sessionID string) (session.Sources, error) {
	sess, adapter, err := s.owned(ctx, sessionID)
	if err != nil {
		return session.Sources{}, err
	}
	implicit, began, known, err := store.ReadSources(ctx, s.db.Read(), sessionID)
	if err != nil {
		return session.Sources{}, err
	}
	choices := runtime.CapabilitiesOf(adapter).ImplicitSources
	if !known && len(choices) > 0 {
		implicit = choices[0]
	}
	now, err := registry.SourcesAt(adapter, sessionID, cmp.Or(sess.Cwd, s.root), implicit)
	if err != nil {
		return session.Sources{}, err
	}
	out := session.Sources{Implicit: implicit, Choices: append([]string{}, choices...), Files: []session.SourceNow{}}
	of := func(list []runtime.Source, path string) *runtime.Source {
		if i := slices.IndexFunc(list, func(one runtime.Source) bool { return one.Path == path }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	for _, one := range now {
		file := session.SourceNow{Source: one, State: session.SourceUnknown, Began: of(began, one.Path)}
		switch {
		case !known:
		case file.Began == nil:
			file.State = session.SourceAdded
		case file.Began.SHA256 != one.SHA256 || file.Began.Reason != one.Reason:
			file.State = session.SourceChanged
		default:
			file.State = session.SourceSame
		}
		out.Files = append(out.Files, file)
	}
	for i, one := range began {
		if of(now, one.Path) == nil {
			out.Files = append(out.Files, session.SourceNow{Source: one, State: session.SourceRemoved, Began: &began[i]})
		}
	}
	return out, nil
}
