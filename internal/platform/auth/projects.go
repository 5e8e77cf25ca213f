package auth

import (
	"context"
	"slices"
	"strings"
)

// Projects are those a principal is limited to: it neither sees nor changes anything of another project, or of
// none. nil is no limit. It does not change.
type Projects struct{ ids []string }

// LimitTo makes a limit to the projects with these ids; without any it leaves nothing.
func LimitTo(ids ...string) *Projects {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return &Projects{slices.Compact(ids)}
}

// Has reports whether what belongs to a project, "" for none, is within the limit.
func (p *Projects) Has(id string) bool { return p == nil || id != "" && slices.Contains(p.ids, id) }

// IDs are the projects, sorted; nil without a limit.
func (p *Projects) IDs() []string {
	if p == nil {
		return nil
	}
	return slices.Clone(p.ids)
}

// Key is the same for limits to the same projects, "" without a limit.
func (p *Projects) Key() string {
	if p == nil {
		return ""
	}
	return "projects " + strings.Join(p.ids, "\x00")
}

// ProjectsFrom is the limit of the principal of a request, nil for none.
func ProjectsFrom(ctx context.Context) *Projects {
	principal, _ := PrincipalFrom(ctx)
	return principal.Projects
}
