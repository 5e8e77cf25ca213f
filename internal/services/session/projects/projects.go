package projects

import (
	"context"
	"fmt"
	"time"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/internal/services/session/reading"
	"harness/internal/services/session/store"
)

// Projects lists all projects by name, in human sort order (case and accents compare last).
func (p *Catalog) Projects(ctx context.Context) ([]session.Project, error) {
	return store.ListProjects(ctx, p.options.DB.Read())
}

// ProjectsAt is Projects with the matching cursor of the event stream.
func (p *Catalog) ProjectsAt(ctx context.Context) (projects []session.Project, pos int64, err error) {
	err = p.options.DB.Snapshot(ctx, func(q database.Querier) error {
		if projects, err = store.ListProjects(ctx, q); err != nil {
			return err
		}
		pos, err = reading.CursorOf(ctx, q)
		return err
	})
	return projects, pos, err
}

// CreateProject creates a project. It returns *DuplicateNameError if another project has the name, ignoring case and
// surrounding space.
func (p *Catalog) CreateProject(ctx context.Context, name string, workingDirectory *string) (session.Project, error) {
	at := p.options.Now()
	project := session.Project{ID: ids.New(), Name: name, WorkingDirectory: workingDirectory, CreatedAt: at, UpdatedAt: at}
	err := p.options.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if err := store.UniqueName(ctx, tx, name, project.ID); err != nil {
			return nil, journal.Refuse(err)
		}
		if err := store.InsertProject(ctx, tx, project); err != nil {
			return nil, err
		}
		return []journal.Event{projectUpserted(project, at)}, nil
	})
	return project, err
}

// RenameProject changes the name and, with setDirectory, the working directory (nil clears it). It publishes the
// project even if nothing changed. A new directory removes the project's worker sessions.
func (p *Catalog) RenameProject(ctx context.Context, projectID, name string, workingDirectory *string,
	setDirectory bool) (session.Project, error) {
	var (
		project   session.Project
		dismissed []string
	)
	at := p.options.Now()
	err := p.options.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		stored, err := store.ReadProject(ctx, tx, projectID)
		if err != nil {
			return nil, journal.Refuse(err)
		}
		if err := store.UniqueName(ctx, tx, name, projectID); err != nil {
			return nil, journal.Refuse(err)
		}
		next := stored
		next.Name = name
		if setDirectory {
			next.WorkingDirectory = workingDirectory
		}
		moved := !session.EqualText(next.WorkingDirectory, stored.WorkingDirectory)
		if moved || next.Name != stored.Name {
			next.UpdatedAt = at
		}
		_, err = tx.ExecContext(ctx,
			`update projects set name = $2, name_key = $3, working_directory = $4, updated_at = $5 where id = $1`,
			database.EncodeText(projectID), database.EncodeText(name), store.NameKey(name), store.NullText(next.WorkingDirectory),
			next.UpdatedAt)
		if err != nil {
			return nil, fmt.Errorf("update project %s: %w", projectID, err)
		}
		dismissed = nil
		if moved { // they work in the old directory
			if dismissed, err = p.options.Agents.DismissIn(ctx, tx, projectID); err != nil {
				return nil, err
			}
		}
		project = next
		return []journal.Event{projectUpserted(next, at)}, nil
	})
	if err == nil {
		p.options.Agents.RemoveWorkers(context.WithoutCancel(ctx), dismissed, time.Now().Add(session.DeletePatience))
	}
	return project, err
}

// DeleteProject removes a project that has no user sessions, and removes its worker sessions. Otherwise it returns
// *ProjectNotEmptyError with the number of user sessions.
func (p *Catalog) DeleteProject(ctx context.Context, projectID string) (session.Project, error) {
	var (
		project   session.Project
		dismissed []string
	)
	at := p.options.Now()
	err := p.options.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		stored, err := store.ReadProject(ctx, tx, projectID)
		if err != nil {
			return nil, journal.Refuse(err)
		}
		key := database.EncodeText(projectID)
		var sessions int
		err = tx.QueryRowContext(ctx, `select count(*) from sessions where project_id = $1 and system_owned = 0`, key).
			Scan(&sessions)
		if err != nil {
			return nil, fmt.Errorf("count sessions of project %s: %w", projectID, err)
		}
		if sessions > 0 {
			return nil, journal.Refuse(&session.ProjectNotEmptyError{ProjectID: projectID, SessionCount: sessions})
		}
		for _, statement := range []string{
			`update sessions set project_id = null where project_id = $1`,
			`delete from projects where id = $1`,
		} {
			if _, err := tx.ExecContext(ctx, statement, key); err != nil {
				return nil, fmt.Errorf("delete project %s: %w", projectID, err)
			}
		}
		if dismissed, err = p.options.Agents.DismissIn(ctx, tx, projectID); err != nil {
			return nil, err
		}
		project = stored
		return []journal.Event{projectDeleted(projectID, at)}, nil
	})
	if err == nil {
		p.options.Agents.RemoveWorkers(context.WithoutCancel(ctx), dismissed, time.Now().Add(session.DeletePatience))
	}
	return project, err
}
