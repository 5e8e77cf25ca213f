package auth

import (
	"context"
	"slices"
	"strings"
)

// Projects limits a principal to some projects: it neither sees nor changes anything in another project, or without a
// project. nil is no limit. It is immutable.
type Projects struct{ ids []string }

// LimitTo makes a limit to the projects with these ids; without ids it allows no project.
func LimitTo(ids ...string) *Projects {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return &Projects{slices.Compact(ids)}
}

// Has reports whether a project, "" for none, is within the limit.
func (p *Projects) Has(id string) bool { return p == nil || id != "" && slices.Contains(p.ids, id) }

// IDs returns the projects, sorted; nil without a limit.
func (p *Projects) IDs() []string {
	if p == nil {
		return nil
	}
	return slices.Clone(p.ids)
}

// Key returns the same text for equal limits, "" without a limit.
func (p *Projects) Key() string {
	if p == nil {
		return ""
	}
	return "projects " + strings.Join(p.ids, "\x00")
}

// ProjectsFrom returns the limit of a request's principal, nil for none.
func ProjectsFrom(ctx context.Context) *Projects {
	principal, _ := PrincipalFrom(ctx)
	return principal.Projects
}
