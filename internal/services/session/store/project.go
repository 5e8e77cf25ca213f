package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"harness/internal/platform/database"
	"harness/internal/services/session"
)

const projectColumns = `id, name, working_directory, created_at, updated_at`

// ListProjects reads all projects.
func ListProjects(ctx context.Context, q database.Querier) ([]session.Project, error) {
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

// InsertProject stores a new project.
func InsertProject(ctx context.Context, tx database.Tx, project session.Project) error {
	_, err := tx.ExecContext(ctx, `insert into projects (id, name, name_key, working_directory, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6)`, database.EncodeText(project.ID), database.EncodeText(project.Name),
		NameKey(project.Name),
		NullText(project.WorkingDirectory), project.CreatedAt, project.UpdatedAt)
	if err != nil {
		return fmt.Errorf("store project %s: %w", project.ID, err)
	}
	return nil
}

// NameKey normalizes a name: names that people consider the same have equal keys.
func NameKey(name string) string {
	return database.EncodeText(strings.ToLower(strings.TrimSpace(name)))
}

// UniqueName returns an error if another project has the name; except is a project that may have it.
func UniqueName(ctx context.Context, q database.Querier, name, except string) error {
	var id string
	err := q.QueryRowContext(ctx, `select id from projects where name_key = $1`, NameKey(name)).Scan(&id)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && id == except:
		return nil
	case err != nil:
		return fmt.Errorf("look for project name: %w", err)
	}
	return &session.DuplicateNameError{ProjectID: id}
}

// ReadProject returns ErrProjectNotFound for an unknown id.
func ReadProject(ctx context.Context, q database.Querier, id string) (session.Project, error) {
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
