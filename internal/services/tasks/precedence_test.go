package tasks

import (
	"slices"
	"testing"

	"harness/internal/runtime"
	"harness/internal/services/session"
)

// RA-16: the list of files that an agent reads on its own shows which file takes precedence: what an administrator
// enforces comes last. If it reads none, the list says so, with the reason.
func TestPrecedenceOfSourcesIsStored(t *testing.T) {
	t.Parallel()
	var files []session.SourceNow
	add := func(path, kind, scope, state string) {
		files = append(files, session.SourceNow{Source: runtime.Source{Path: path, Kind: kind, Scope: scope}, State: state})
	}
	add("/etc/codex/config.toml", runtime.SourceSettings, runtime.SourceOfSystem, session.SourceSame)
	add("/etc/codex/requirements.toml", runtime.SourceSettings, runtime.SourceOfSystem, session.SourceSame)
	add("/home/u/config.toml", runtime.SourceSettings, runtime.SourceOfHome, session.SourceChanged)
	add("/home/u/AGENTS.md", runtime.SourceInstructions, runtime.SourceOfHome, session.SourceRemoved)
	add("/work/AGENTS.md", runtime.SourceInstructions, runtime.SourceOfFolder, session.SourceAdded)
	noted := sourcesOf(session.Sources{Implicit: runtime.ImplicitAll, Files: files})
	if want := []string{"/etc/codex/config.toml", "/home/u/config.toml", "/work/AGENTS.md", "/etc/codex/requirements.toml"}; noted.Disabled ||
		!slices.Equal(noted.Precedence, want) {
		t.Errorf("noted is %+v, want %v", noted, want)
	}
	if none := sourcesOf(session.Sources{Implicit: runtime.ImplicitNone}); !none.Disabled || none.Reason == "" || none.Precedence == nil {
		t.Errorf("of none is noted %+v", none)
	}
}
