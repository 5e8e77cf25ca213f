package manager

import (
	"errors"
	"slices"
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// When it opens a session, the service chooses the files that its agent reads without a request. It stores their
// hashes. It shows these sources with later changes, also after a restart. A fork has the same sources. A deleted
// session leaves none. RA-16
func TestSourcesOfASession(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		file := func(name, hash string) runtime.Source {
			return runtime.Source{Path: "/repo/" + name, Kind: runtime.SourceInstructions, Scope: runtime.SourceOfFolder,
				Bytes: 1, SHA256: hash}
		}
		k.fake.sources = []runtime.Source{file("same", "a"), file("changes", "b"), file("goes", "c")}
		var refused *runtime.ControlError
		if _, err := k.Create(t.Context(), session.Create{ImplicitSources: "none"}); !errors.As(err, &refused) ||
			refused.Field != "implicitSources" ||
			!slices.Equal(refused.Enforced, []string{"all", "home"}) || len(k.fake.began) != 0 {
			t.Errorf("what the runtime cannot be held to: %v", err)
		}
		free := k.create()
		held, err := k.Create(t.Context(), session.Create{ImplicitSources: "home"})
		k.do(err)
		if k.fake.began[0].Implicit != "all" || k.fake.began[1].Implicit != "home" {
			t.Errorf("the runtime received %+v", k.fake.began)
		}
		k = k.reopenKnown()
		k.fake.sources = []runtime.Source{file("same", "a"), file("changes", "B"), file("comes", "d")}
		for id, want := range map[string]string{free.ID: "all", held.ID: "home"} {
			now, err := k.Sources(t.Context(), id)
			k.do(err)
			var states []string
			for _, one := range now.Files {
				states = append(states, one.Path[len("/repo/"):]+" "+one.State)
			}
			if now.Implicit != want ||
				!slices.Equal(states, []string{"same same", "changes changed", "comes added", "goes removed"}) ||
				now.Files[1].Began.SHA256 != "b" {
				t.Errorf("%s: %+v", want, now)
			}
			if implicit, cwd, err := k.ImplicitSources(t.Context(), id); err != nil || implicit != want || cwd != "/repo" {
				t.Errorf("it may read %s in %s, %v", implicit, cwd, err)
			}
		}
		if n := k.number(`select count(*) from session_sources`); n != 2 {
			t.Errorf("%d rows", n)
		}
		_, err = k.Delete(t.Context(), held.ID)
		k.do(err)
		if n := k.number(`select count(*) from session_sources where session_id = $1`, held.ID); n != 0 {
			t.Errorf("%d rows of a deleted session", n)
		}
		elsewhere := ids.New()
		k.fake.notify(elsewhere, "", "thread/started", nil)
		k.flush()
		if now, err := k.Sources(t.Context(), elsewhere); err != nil || now.Implicit != "all" ||
			now.Files[0].State != session.SourceUnknown || now.Files[0].Began != nil {
			t.Errorf("of one that began elsewhere: %+v, %v", now, err)
		}
	})
}
