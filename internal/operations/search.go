package operations

import (
	"context"

	"harness/internal/content/search"
	"harness/internal/platform/auth"
)

// Searching has the search method that the operations need. *search.Index implements it.
type Searching interface {
	// Search finds titles and entries: *search.QueryError, search.ErrBadCursor.
	Search(ctx context.Context, query search.Query) (search.Page, error)
}

// Finder searches titles and transcripts.
type Finder struct{ index Searching }

// MaxHits is the maximum number of hits in a page; the default is defaultHits.
const (
	MaxHits     = 100
	defaultHits = 20
)

// Search finds titles and entries of sessions within the caller's limit.
func (s *Finder) Search(ctx context.Context, query search.Query) (search.Page, error) {
	var p problems
	p.count("limit", query.Limit, MaxHits)
	if err := p.err(); err != nil {
		return search.Page{}, err
	}
	if query.Limit == 0 {
		query.Limit = defaultHits
	}
	if limit := auth.ProjectsFrom(ctx); limit != nil {
		query.Projects = append([]string{}, limit.IDs()...)
	}
	return s.index.Search(ctx, query)
}
