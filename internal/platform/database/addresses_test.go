package database_test

import (
	"slices"
	"strings"
	"testing"

	"harness/internal/platform/database"
)

func TestAddressesOfPostgres(t *testing.T) {
	t.Parallel()
	for url, want := range map[string][]string{
		"": nil, "postgres://u:p@db.example:6543/x?sslmode=disable": {"db.example:6543"},
		"postgres://[::1]/x?sslmode=disable":                   {"[::1]:5432"},
		"postgres://a:1,b:2/x?sslmode=disable":                 {"a:1", "b:2"},
		"host=/run/postgresql user=u dbname=x sslmode=disable": nil,
	} {
		if got, err := database.Addresses(url); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", url, got, err, want)
		}
	}
	if _, err := database.Addresses("postgres://u:canary@x:y/z"); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("no port: %v", err)
	}
}
