package database

import "testing"

func TestPositionalRewritesOnlyParametersInOrder(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"select $1, $2":                        "select ?, ?",
		"values ($1,$2),($3,$4)":               "values (?,?),(?,?)",
		"where a < $3 or a = $3":               "where a < $3 or a = $3",
		"where b = $2 and a = $1":              "where b = $2 and a = $1",
		"where a = $1 and b = $1":              "where a = $1 and b = $1",
		"select '$1', $1, '''$2', $2, ''":      "select '$1', ?, '''$2', ?, ''",
		"select '$1":                           "select '$1",
		`select "$1", $1`:                      `select "$1", $1`,
		"select 1":                             "select 1",
		"cast($1 as bigint) $":                 "cast($1 as bigint) $",
		"$1 $2 $3 $4 $5 $6 $7 $8 $9 $10, $11)": "? ? ? ? ? ? ? ? ? ?, ?)",
	} {
		if got := positional(text); got != want {
			t.Errorf("%s became %s", text, got)
		}
	}
}
