package migrations

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// derived is the prefix of the names of tables that are built from other tables.
const derived = "search_"

// Tables lists the tables of a store at a schema version, each after the tables that its rows refer to. It omits tables
// that the server derives from others.
func Tables(version int64) (tables []string, err error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	statement := regexp.MustCompile(`(?m)^(create|drop) table (\w+)`)
	for _, name := range names { // in the order of their versions
		of, err := versionOf(name)
		if err != nil {
			return nil, err
		}
		if of > version {
			break
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		for _, found := range statement.FindAllStringSubmatch(up, -1) {
			if strings.HasPrefix(found[2], derived) {
				continue
			}
			if found[1] == "create" {
				tables = append(tables, found[2])
			} else if at := slices.Index(tables, found[2]); at >= 0 {
				tables = slices.Delete(tables, at, at+1)
			} else {
				return nil, fmt.Errorf("the migration %s drops the table %s, which does not exist", name, found[2])
			}
		}
	}
	return tables, nil
}
