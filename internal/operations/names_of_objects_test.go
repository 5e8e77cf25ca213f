package operations_test

import (
	"encoding/json"
	"errors"
	"testing"

	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/services/session"
	"harness/tests/dbtest"
)

// The names of built-in members of JavaScript objects are unknown projects, and ordinary keys of settings.
func TestJavaScriptObjectNamesAreOrdinaryNames(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		s, _ := openScripted(t, dbtest.Open(t, engine))
		ctx := t.Context()
		one, err := s.Create(ctx, session.Create{})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty",
			"__defineGetter__", "isPrototypeOf"} {
			folder := "/tmp"
			_, renamed := s.RenameProject(ctx, name, "x", &folder, true)
			_, deleted := s.DeleteProject(ctx, name)
			for _, err := range []error{renamed, deleted} {
				if !errors.Is(err, session.ErrProjectNotFound) {
					t.Errorf("the project %s: %v", name, err)
				}
			}
			var unknown *operations.UnknownProjectError
			if _, _, err := s.AssignProject(ctx, one.ID, &name); !errors.As(err, &unknown) {
				t.Errorf("a session is put into %s: %v", name, err)
			}
			settings := func(want string) {
				t.Helper()
				now, err := s.Settings(ctx, one.ID, operations.ScopeSession)
				if err != nil || string(now[name]) != want {
					t.Errorf("the setting %s is %s, %v; want %q", name, now[name], err, want)
				}
			}
			settings("")
			key := name
			if _, err := s.EditSettings(ctx, one.ID, operations.ScopeSession, operations.SettingsEdit{Key: &key,
				Value: json.RawMessage(`1`)}, operations.Audit{}); err != nil {
				t.Errorf("store the setting %s: %v", name, err)
			}
			settings("1")
			if _, err := s.DeleteSetting(ctx, one.ID, operations.ScopeSession, name, operations.Audit{}); err != nil {
				t.Errorf("remove the setting %s: %v", name, err)
			}
			settings("")
		}
	})
}
