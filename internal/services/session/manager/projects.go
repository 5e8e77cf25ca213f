package manager

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

const projectColumns = `id, name, working_directory, created_at, updated_at`

// Projects lists all projects by name, in the order people sort names (case and accents last).
func (s *Service) Projects(ctx context.Context) ([]session.Project, error) {
	return listProjects(ctx, s.db.Read())
}

// ProjectsAt is Projects with the cursor of the event stream at which the list is true.
func (s *Service) ProjectsAt(ctx context.Context) (projects []session.Project, pos int64, err error) {
	err = s.db.Snapshot(ctx, func(q database.Querier) error {
		if projects, err = listProjects(ctx, q); err != nil {
			return err
		}
		pos, err = cursorOf(ctx, q)
		return err
	})
	return projects, pos, err
}

func listProjects(ctx context.Context, q database.Querier) ([]session.Project, error) {
	projects, err := database.ReadAll(ctx, q, "list projects", scanProject, `select `+projectColumns+` from projects`)
	if err != nil {
		return nil, err
	}
	names := collate.New(language.Und)
	slices.SortFunc(projects, func(a, b session.Project) int {
		if order := names.CompareString(a.Name, b.Name); order != 0 {
			return order
		}
		return strings.Compare(a.ID, b.ID)
	})
	return projects, nil
}

// CreateProject makes a project; *DuplicateNameError when another has the name (case and surrounding space aside).
func (s *Service) CreateProject(ctx context.Context, name string, workingDirectory *string) (session.Project, error) {
	at := s.now()
	project := session.Project{ID: session.NewID(), Name: name, WorkingDirectory: workingDirectory, CreatedAt: at, UpdatedAt: at}
	err := s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if err := uniqueName(ctx, tx, name, project.ID); err != nil {
			return nil, journal.Refuse(err)
		}
		if err := insertProject(ctx, tx, project); err != nil {
			return nil, err
		}
		return []journal.Event{projectUpserted(project, at)}, nil
	})
	return project, err
}

func insertProject(ctx context.Context, tx database.Tx, project session.Project) error {
	_, err := tx.ExecContext(ctx, `insert into projects (id, name, name_key, working_directory, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6)`, database.EncodeText(project.ID), database.EncodeText(project.Name),
		nameKey(project.Name),
		nullText(project.WorkingDirectory), project.CreatedAt, project.UpdatedAt)
	if err != nil {
		return fmt.Errorf("store project %s: %w", project.ID, err)
	}
	return nil
}

// RenameProject changes the name and, when setDirectory, the working directory (nil clears it). It is announced also
// when nothing changes. Another directory costs the project its worker sessions.
func (s *Service) RenameProject(ctx context.Context, projectID, name string, workingDirectory *string,
	setDirectory bool) (session.Project, error) {
	var (
		project   session.Project
		dismissed []string
	)
	at := s.now()
	err := s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		stored, err := readProject(ctx, tx, projectID)
		if err != nil {
			return nil, journal.Refuse(err)
		}
		if err := uniqueName(ctx, tx, name, projectID); err != nil {
			return nil, journal.Refuse(err)
		}
		next := stored
		next.Name = name
		if setDirectory {
			next.WorkingDirectory = workingDirectory
		}
		moved := !same(next.WorkingDirectory, stored.WorkingDirectory)
		if moved || next.Name != stored.Name {
			next.UpdatedAt = at
		}
		_, err = tx.ExecContext(ctx,
			`update projects set name = $2, name_key = $3, working_directory = $4, updated_at = $5 where id = $1`,
			database.EncodeText(projectID), database.EncodeText(name), nameKey(name), nullText(next.WorkingDirectory),
			next.UpdatedAt)
		if err != nil {
			return nil, fmt.Errorf("update project %s: %w", projectID, err)
		}
		dismissed = nil
		if moved { // they work in the old directory
			if dismissed, err = s.dismissIn(ctx, tx, projectID); err != nil {
				return nil, err
			}
		}
		project = next
		return []journal.Event{projectUpserted(next, at)}, nil
	})
	if err == nil {
		s.removeWorkers(context.WithoutCancel(ctx), dismissed, time.Now().Add(s.deletePatience))
	}
	return project, err
}

// DeleteProject removes a project that has no sessions of people, and its worker sessions; *ProjectNotEmptyError says
// how many it has.
func (s *Service) DeleteProject(ctx context.Context, projectID string) (session.Project, error) {
	var (
		project   session.Project
		dismissed []string
	)
	at := s.now()
	err := s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		stored, err := readProject(ctx, tx, projectID)
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
		if dismissed, err = s.dismissIn(ctx, tx, projectID); err != nil {
			return nil, err
		}
		project = stored
		return []journal.Event{projectDeleted(projectID, at)}, nil
	})
	if err == nil {
		s.removeWorkers(context.WithoutCancel(ctx), dismissed, time.Now().Add(s.deletePatience))
	}
	return project, err
}

// nameKey is what two names have in common when they are the same to people.
func nameKey(name string) string {
	return database.EncodeText(strings.ToLower(strings.TrimSpace(name)))
}

func uniqueName(ctx context.Context, q database.Querier, name, except string) error {
	var id string
	err := q.QueryRowContext(ctx, `select id from projects where name_key = $1`, nameKey(name)).Scan(&id)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && id == except:
		return nil
	case err != nil:
		return fmt.Errorf("look for project name: %w", err)
	}
	return &session.DuplicateNameError{ProjectID: id}
}

// readProject returns ErrProjectNotFound for an unknown id.
func readProject(ctx context.Context, q database.Querier, id string) (session.Project, error) {
	project, err := scanProject(q.QueryRowContext(ctx, `select `+projectColumns+` from projects where id = $1`,
		database.EncodeText(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return session.Project{}, session.ErrProjectNotFound
	}
	if err != nil {
		return session.Project{}, fmt.Errorf("read project %s: %w", id, err)
	}
	return project, nil
}

func scanProject(row database.Row) (session.Project, error) {
	var (
		project   session.Project
		directory sql.NullString
	)
	if err := row.Scan(&project.ID, &project.Name, &directory, &project.CreatedAt, &project.UpdatedAt); err != nil {
		return session.Project{}, err
	}
	project.Name = database.DecodeText(project.Name)
	if directory.Valid {
		text := database.DecodeText(directory.String)
		project.WorkingDirectory = &text
	}
	return project, nil
}
