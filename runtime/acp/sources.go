package acp

import (
	"os"
	"strings"

	"harness/runtime"
	"harness/runtime/sources"
)

var _ runtime.Sourcer = (*Runtime)(nil)

// Sources implements runtime.Sourcer, as far as the profile knows.
func (r *Runtime) Sources(_, cwd, _ string) ([]runtime.Source, error) {
	var candidates []sources.Candidate
	for _, path := range r.profile.Reads {
		scope := runtime.SourceOfHome
		if strings.HasPrefix(path, "{cwd}") {
			scope = runtime.SourceOfFolder
		}
		path = strings.NewReplacer("{cwd}", cwd, "{settings}", r.settingsFile()).Replace(os.Expand(path, r.lookup))
		candidates = append(candidates, sources.Candidate{Path: path, Kind: runtime.SourceSettings, Scope: scope})
	}
	return sources.Files(candidates...), nil
}
