package operations

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"harness/internal/platform/auth"
	"harness/internal/services/session"
)

// FolderStore knows the folders of this machine.
type FolderStore interface {
	// Describe returns a folder; false if no agent can work there.
	Describe(folder string) (session.Folder, bool)
	// Complete returns the folders whose paths begin with a path, below the roots if there are any.
	Complete(path string, roots []string, most int) (found []session.Folder, more bool)
}

// Folders suggests folders for new sessions.
type Folders struct {
	reader   *Reader
	projects *Projects
	store    FolderStore
}

// RecentFolder is a folder of the latest sessions that the caller may see.
type RecentFolder struct {
	session.Folder
	// UsedAt (ms) is when a session there last changed. Running and NeedsYou count its sessions in these states.
	UsedAt            int64
	Running, NeedsYou int
}

// FolderPage has the latest folders and the completions of a path. More means that there are other completions.
type FolderPage struct {
	Recent  []RecentFolder
	Matches []session.Folder
	More    bool
}

const (
	mostRecentFolders = 12
	mostFolders       = 20
)

// Folders returns recent folders whose path contains a text, and the folders whose paths begin with it. A blank text
// means all recent ones. A caller that is limited to projects gets folders below theirs.
func (s *Folders) Folders(ctx context.Context, text string) (FolderPage, error) {
	var p problems
	if p.most("q", text, MaxPath); p != nil {
		return FolderPage{}, p.err()
	}
	latest, err := s.reader.List(ctx, session.ListQuery{Limit: MaxPage, Sort: session.SortUpdated})
	if err != nil {
		return FolderPage{}, err
	}
	page := FolderPage{Recent: s.recent(latest.Sessions, text)}
	if text == "" {
		return page, nil
	}
	roots, err := s.roots(ctx)
	if err == nil && (roots == nil || slices.ContainsFunc(roots, func(root string) bool { return under(text, root) })) {
		page.Matches, page.More = s.store.Complete(text, roots, mostFolders)
	}
	return page, err
}

func (s *Folders) recent(sessions []session.Session, text string) []RecentFolder {
	var found []RecentFolder
	at := map[string]int{} // -1: not offered
	for _, one := range sessions {
		if one.Cwd == "" || !strings.Contains(strings.ToLower(one.Cwd), strings.ToLower(text)) {
			continue
		}
		i, known := at[one.Cwd]
		if !known {
			i = -1
			if folder, usable := s.store.Describe(one.Cwd); usable && len(found) < mostRecentFolders {
				i = len(found)
				found = append(found, RecentFolder{Folder: folder, UsedAt: one.UpdatedAt})
			}
			at[one.Cwd] = i
		}
		if i < 0 {
			continue
		}
		switch one.Activity.State {
		case session.StateRunning, session.StateUnresponsive:
			found[i].Running++
		case session.StateWaiting:
			found[i].NeedsYou++
		case session.StateIdle, session.StateError:
		}
	}
	return found
}

// roots returns the folders of the caller's projects, nil if the caller is not limited to projects.
func (s *Folders) roots(ctx context.Context) ([]string, error) {
	limit := auth.ProjectsFrom(ctx)
	if limit == nil {
		return nil, nil
	}
	all, _, err := s.projects.ProjectsAt(ctx)
	roots := []string{}
	for _, one := range all {
		if one.WorkingDirectory != nil && filepath.IsAbs(*one.WorkingDirectory) && limit.Has(one.ID) {
			roots = append(roots, *one.WorkingDirectory)
		}
	}
	return roots, err
}
