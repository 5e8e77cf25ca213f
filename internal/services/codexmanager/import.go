package codexmanager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"harness/internal/platform/database"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/queue"
)

// Count is the number of imported rows of a kind, and of those that already existed.
type Count struct {
	New int `json:"new"`
	Had int `json:"alreadyHere"`
}

func (c *Count) add(imported bool) {
	if imported {
		c.New++
	} else {
		c.Had++
	}
}

// Report is the outcome of an import.
type Report struct {
	DryRun   bool  `json:"dryRun"`
	Projects Count `json:"projects"`
	Sessions Count `json:"sessions"`
	// Entries is the number of new transcript entries.
	Entries  int   `json:"entries"`
	Jobs     Count `json:"jobs"`
	Defaults bool  `json:"defaultControls"` // whether they were imported
	// Left lists what was not imported, with the reasons.
	Left []string `json:"left"`
}

// Run runs a unit in a transaction and commits it, in order with all other writers.
type Run func(ctx context.Context, unit func(ctx context.Context, tx database.Tx) error) error

// sessionsAtOnce is the number of sessions that one transaction imports.
const sessionsAtOnce = 25

// Import stores the content of the directory as sessions of this node and of a runtime (codex's). It keeps existing
// rows, so it may be repeated: it continues after an interruption, and adds what is new.
func (d *Directory) Import(ctx context.Context, nodeID, runtimeName string, run Run) (Report, error) {
	i := &importing{Directory: d, nodeID: nodeID, runtime: runtimeName, run: run, Report: Report{Left: []string{}},
		projectOf: map[string]string{}}
	for _, name := range d.Missing {
		i.leave("%s is not there", name)
	}
	kept, left := d.sessions()
	if len(left) > 0 {
		i.leave("%d sessions of which there is no title: they were deleted, or the files of codex have to say that they were not (--codex-home)",
			len(left))
	}
	err := i.projects(ctx)
	for chunk := range slices.Chunk(kept, sessionsAtOnce) {
		if err == nil {
			err = i.sessions(ctx, chunk)
		}
	}
	for chunk := range slices.Chunk(d.jobs.Jobs, 200) {
		if err == nil {
			err = i.jobs(ctx, chunk)
		}
	}
	return i.Report, err
}

type importing struct {
	*Directory
	Report
	nodeID, runtime string
	run             Run
	// projectOf maps imported project ids to ids of existing projects with the same names.
	projectOf map[string]string
}

func (i *importing) leave(format string, values ...any) {
	i.Left = append(i.Left, fmt.Sprintf(format, values...))
}

// unit runs a unit and keeps its report once it is stored.
func (i *importing) unit(ctx context.Context, do func(ctx context.Context, tx database.Tx) error) error {
	before := i.Report
	return i.run(ctx, func(ctx context.Context, tx database.Tx) error {
		i.Report = before // the transaction may be retried
		i.Left = slices.Clone(before.Left)
		return do(ctx, tx)
	})
}

func (i *importing) projects(ctx context.Context) error {
	return i.unit(ctx, func(ctx context.Context, tx database.Tx) (err error) {
		if defaults := i.metadata.DefaultControls; defaults != nil {
			if i.Defaults, err = store.ImportDefaults(ctx, tx, *defaults.meaning()); err != nil {
				return err
			}
		}
		for _, id := range slices.Sorted(maps.Keys(i.metadata.Projects)) {
			project, err := i.metadata.Projects[id].meaning(id)
			if err != nil {
				i.leave("project %s: %s", id, err)
				continue
			}
			imported, err := store.ImportProject(ctx, tx, project)
			var taken *session.DuplicateNameError
			if errors.As(err, &taken) {
				i.projectOf[id] = taken.ProjectID
				i.leave("project %s: there is another one called %q; its sessions are put there", id, project.Name)
				continue
			}
			if err != nil {
				return err
			}
			i.Projects.add(imported)
		}
		return nil
	})
}

func (i *importing) sessions(ctx context.Context, ids []string) error {
	return i.unit(ctx, func(ctx context.Context, tx database.Tx) error {
		for _, id := range ids {
			if err := database.CheckKeys("id", id); err != nil {
				i.leave("session %.60q: %s", id, err)
				continue
			}
			in, wrong := i.session(id, i.nodeID, i.runtime)
			i.Left = append(i.Left, wrong...)
			if in.ProjectID != nil {
				if other, is := i.projectOf[*in.ProjectID]; is {
					in.ProjectID = &other
				} else if _, is := i.metadata.Projects[*in.ProjectID]; !is {
					in.ProjectID = nil // the project was deleted
				}
			}
			result, err := store.Import(ctx, tx, in)
			var deleted *session.DeletedError
			switch {
			case errors.As(err, &deleted):
				i.leave("session %s was deleted here", id)
			case errors.Is(err, session.ErrForeignConversation):
				i.leave("session %s: %s", id, err)
			case err != nil:
				return err
			default:
				i.Sessions.add(result.New)
				i.Entries += result.Entries
			}
		}
		return nil
	})
}

func (i *importing) jobs(ctx context.Context, jobs []job) error {
	return i.unit(ctx, func(ctx context.Context, tx database.Tx) error {
		for _, one := range jobs {
			meant, err := one.meaning()
			if err != nil {
				i.leave("job %s: %s", one.ID, err)
				continue
			}
			if other, is := i.projectOf[meant.ProjectID]; is {
				meant.ProjectID = other
			}
			imported, err := queue.Import(ctx, tx, meant, i.nodeID)
			if err != nil {
				return err
			}
			i.Jobs.add(imported)
		}
		return nil
	})
}
