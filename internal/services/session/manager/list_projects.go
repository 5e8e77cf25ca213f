package manager

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"harness/internal/platform/database"
)

// projectsAtOnce is how many sessions one statement asks about.
const projectsAtOnce = 500

// ProjectsOf are the projects of stored sessions, by session; those in none, and those that are not there, are left out.
func (s *Service) ProjectsOf(ctx context.Context, sessionIDs ...string) (map[string]string, error) {
	projects := map[string]string{}
	for some := range slices.Chunk(sessionIDs, projectsAtOnce) {
		marks, args := make([]string, len(some)), make([]any, len(some))
		for i, id := range some {
			marks[i], args[i] = `$`+strconv.Itoa(i+1), database.EncodeText(id)
		}
		rows, err := database.ReadAll(ctx, s.db.Read(), "read the projects of sessions",
			func(row database.Row) (pair [2]string, err error) {
				err = row.Scan(&pair[0], &pair[1])
				return pair, err
			},
			`select id, project_id from sessions where project_id is not null and id in (`+strings.Join(marks, `, `)+`)`, args...)
		if err != nil {
			return nil, err
		}
		for _, pair := range rows {
			projects[database.DecodeText(pair[0])] = pair[1]
		}
	}
	return projects, nil
}
