package extensions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/extensions/sdk"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// LC-04: 50 extensions are swapped while emits run. No result fails, every emit sees all old or all new handlers, and
// the old modules are closed.
func TestReloadIsAtomicUnderEmits_LC04(t *testing.T) {
	t.Parallel()
	const modules, reloads, emitters = 50, 12, 4
	root, host := folder(t), &scriptHost{}
	generation := func(n int) {
		for i := range modules {
			write(t, root, map[string]string{fmt.Sprintf("m%02d/events.js", i): fmt.Sprintf("e - - %d", n)})
		}
	}
	generation(0)
	r := registry(t, extensions.Options{Hosts: []extensions.Host{host},
		Roots: []extensions.Root{{Type: extensions.RepoLocal, Path: root}}})
	if problems := r.Load(t.Context()); problems != nil {
		t.Fatal(problems)
	}
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range emitters {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				results := r.Emit(context.Background(), &extensions.Event{Type: "e"}, extensions.Scope{})
				if len(results) != modules {
					t.Errorf("%d results, want %d", len(results), modules)
					return
				}
				for _, result := range results {
					if result.Kind != sdk.HandlerResult || string(result.Details) != string(results[0].Details) {
						t.Errorf("mixed or failed: %s and %s %s", results[0].Details, result.Details, result.Error)
						return
					}
				}
			}
		})
	}
	for n := 1; n <= reloads; n++ {
		generation(n)
		if result := r.Reload(t.Context(), ""); result.Code != extensions.Reloaded || len(result.Modules) != modules {
			t.Fatalf("reload %d: %+v", n, result.Errors)
		}
		if got := string(emit(t, r, "e")[0].Details); got != fmt.Sprintf(`{"value":%d}`, n) {
			t.Errorf("after reload %d: %s", n, got)
		}
	}
	close(stop)
	group.Wait()
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if open := host.open.Load() - host.closed.Load(); open != 0 {
		t.Errorf("%d modules were never closed", open)
	}
	if r.Emit(t.Context(), &extensions.Event{Type: "e"}, extensions.Scope{}) != nil {
		t.Error("a closed registry still has handlers")
	}
}

// slowHost blocks loads until the test releases them.
type slowHost struct {
	scriptHost
	loading, go_ chan struct{}
}

func (h *slowHost) Load(ctx context.Context, source extensions.Source) (extensions.Module, error) {
	select {
	case h.loading <- struct{}{}:
	default:
	}
	select {
	case <-h.go_:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return h.scriptHost.Load(ctx, source)
}

// LC-06: one reload at a time; a load that does not end is cut off.
func TestReloadInProgress_LC06(t *testing.T) {
	t.Parallel()
	root := folder(t)
	write(t, root, map[string]string{"m/events.js": "e - - 1"})
	host := &slowHost{loading: make(chan struct{}, 1), go_: make(chan struct{})}
	r := registry(t, extensions.Options{Hosts: []extensions.Host{host},
		Roots: []extensions.Root{{Type: extensions.RepoLocal, Path: root}}, LoadTimeout: patience})
	done := make(chan extensions.ReloadResult, 1)
	go func() { done <- r.Reload(context.Background(), "first") }()
	<-host.loading
	second := r.Reload(t.Context(), "second")
	if second.Code != extensions.ReloadInProgress || second.ReloadID != "second" ||
		second.SnapshotVersion != "bootstrap" || second.Errors == nil || len(second.Errors) != 0 {
		t.Errorf("%+v", second)
	}
	close(host.go_)
	if first := <-done; first.Code != extensions.Reloaded {
		t.Errorf("%+v", first)
	}
	hanging := registry(t,
		extensions.Options{Hosts: []extensions.Host{&slowHost{loading: make(chan struct{}, 1), go_: make(chan struct{})}},
			Roots: []extensions.Root{{Type: extensions.RepoLocal, Path: root}}, LoadTimeout: 20 * time.Millisecond})
	if result := hanging.Reload(t.Context(), ""); result.Code != extensions.ReloadFailed ||
		result.Errors[0].Code != extensions.ImportFailed {
		t.Errorf("%+v", result)
	}
}

// The record of every attempt is durable: a row and a journal event.
func TestAudit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := newSite(t, db)
		audit := extensions.NewAudit(s.journal, db, nil)
		root := folder(t)
		r := registry(t, extensions.Options{Roots: []extensions.Root{{Type: extensions.RepoLocal, Path: root}}})
		attempt := func(id string) extensions.AuditRecord {
			actor, agent := "ali\x00ce", "curl"
			record := extensions.AuditRecord{ActorRole: "admin", ActorID: &actor,
				RequestOrigin: extensions.RequestOrigin{UserAgent: &agent}, TrustMode: r.TrustMode()}
			record.Complete(r.Reload(t.Context(), id))
			if err := audit.Append(t.Context(), record); err != nil {
				t.Fatal(err)
			}
			return record
		}
		write(t, root, map[string]string{"m/events.js": "e - - 1", "m/extension.manifest.json": manifest("m", "")})
		attempt("one")
		write(t, root, map[string]string{"m/events.js": "throw boom"})
		attempt("two")
		forbidden := "insufficient_role"
		if err := audit.Append(t.Context(), extensions.AuditRecord{ReloadID: "three", ActorRole: "member",
			Result: extensions.AuditForbidden, ErrorSummary: &forbidden, TrustMode: "warn"}); err != nil {
			t.Fatal(err)
		}
		records, err := audit.List(t.Context(), 10)
		if err != nil || len(records) != 3 {
			t.Fatalf("%d records, %v", len(records), err)
		}
		byID := map[string]extensions.AuditRecord{}
		for _, record := range records {
			byID[record.ReloadID] = record
		}
		one, two, three := byID["one"], byID["two"], byID["three"]
		if one.Result != "success" || one.SnapshotAfter == nil || *one.SnapshotAfter != r.SnapshotVersion() ||
			one.ErrorSummary != nil || *one.ActorID != "ali\x00ce" ||
			shape(t, one.Impacted) != `["@t/m"]` || one.RequestOrigin.IP != nil || *one.RequestOrigin.UserAgent != "curl" {
			t.Errorf("success: %s", shape(t, one))
		}
		if two.Result != "failed" || two.SnapshotAfter != nil || *two.ErrorSummary != "import_failed:boom" ||
			two.SnapshotBefore != *one.SnapshotAfter {
			t.Errorf("failure: %s", shape(t, two))
		}
		if three.Result != "forbidden" || *three.ErrorSummary != forbidden || three.ActorID != nil ||
			shape(t, three.Impacted) != `[]` {
			t.Errorf("refusal: %s", shape(t, three))
		}
		events, err := s.journal.Read(t.Context(), journal.Query{})
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		for _, event := range events {
			if event.Type == extensions.EventReload && json.Valid(event.Payload) &&
				strings.Contains(string(event.Payload), `"recordedAt":"2`) {
				kept++
			}
		}
		if kept != 3 {
			t.Errorf("%d journal events, want 3", kept)
		}
	})
}

// BenchmarkEmitUnsubscribed measures an event without a subscriber; the promise is 0.3 µs and no allocation.
func BenchmarkEmitUnsubscribed(b *testing.B) {
	r := extensions.New(
		extensions.Options{Logger: zerolog.Nop(), Native: []sdk.Extension{newListener(nil).extension("e")}})
	r.Load(b.Context())
	event := &extensions.Event{Type: "app_server.item.agent_message.delta", Payload: json.RawMessage(`{}`)}
	b.ReportAllocs()
	for b.Loop() {
		r.Emit(b.Context(), event, extensions.Scope{})
	}
}

// BenchmarkEmitNative measures one subscribed event that a native handler answers.
func BenchmarkEmitNative(b *testing.B) {
	native := sdk.Extension{ModuleName: "n", Register: func(on *sdk.Registry) {
		on.On("e", func(context.Context, sdk.Event, sdk.Tools) (any, error) { return nil, nil })
	}}
	r := extensions.New(extensions.Options{Logger: zerolog.Nop(), Native: []sdk.Extension{native}})
	r.Load(b.Context())
	b.ReportAllocs()
	for b.Loop() {
		r.Emit(b.Context(), &extensions.Event{Type: "e", Payload: json.RawMessage(`{}`)}, extensions.Scope{})
	}
}
