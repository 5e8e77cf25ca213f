package registry

import (
	"context"
	"fmt"
	"slices"

	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// narrowest returns a runtime's most restrictive choice, "" if unknown.
func narrowest(choices []string) string {
	for _, one := range []string{runtime.ImplicitNone, runtime.ImplicitHome, runtime.ImplicitAll} {
		if slices.Contains(choices, one) {
			return one
		}
	}
	return ""
}

// ChosenSources returns the allowed scope of a new session's implicit sources. It returns *runtime.ControlError for a
// scope that the runtime cannot enforce.
func ChosenSources(adapter runtime.Adapter, wish string) (string, error) {
	choices := runtime.CapabilitiesOf(adapter).ImplicitSources
	switch {
	case wish == session.NarrowestSources:
		return narrowest(choices), nil
	case wish != "" && !slices.Contains(choices, wish):
		return "", &runtime.ControlError{Runtime: adapter.Name(), Field: "implicitSources", Value: wish, Enforced: choices}
	case wish == "" && len(choices) > 0:
		return choices[0], nil
	}
	return wish, nil
}

// SourcesAt lists the files that an agent reads without a request now; none if the runtime cannot list them.
func SourcesAt(adapter runtime.Adapter, sessionID, cwd, implicit string) ([]runtime.Source, error) {
	sourcer, knows := adapter.(runtime.Sourcer)
	if !knows {
		return nil, nil
	}
	found, err := sourcer.Sources(sessionID, cwd, implicit)
	if err != nil {
		return nil, fmt.Errorf("look what %s reads by itself: %w", adapter.Name(), err)
	}
	return found, nil
}

// ImplicitSources returns the allowed scope of a session's implicit sources, "" if unset, and the session's folder.
func (r *Registry) ImplicitSources(ctx context.Context, sessionID string) (implicit, cwd string, err error) {
	if implicit, _, _, err = store.ReadSources(ctx, r.db.Read(), sessionID); err != nil || implicit == "" {
		return "", "", err
	}
	stored, err := store.ReadSession(ctx, r.db.Read(), sessionID)
	return implicit, stored.Cwd, err
}
