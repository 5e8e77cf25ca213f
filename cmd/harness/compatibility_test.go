package main

import (
	"os"
	"testing"

	"harness/api"
	"harness/tests/contract"
)

const compatibilityPage = "../../docs/compatibility.md"

// The page matches the router and the contract test's tables, and there are few enough deliberate differences to
// justify each.
func TestTheCompatibilityPageIsCurrent(t *testing.T) {
	t.Parallel()
	served := map[contract.Operation]bool{}
	for _, operation := range api.Operations() {
		served[contract.Operation{Method: operation.Method, Path: operation.Path}] = true
	}
	page := contract.Page(func(operation contract.Operation) bool { return served[operation] })
	if os.Getenv("HARNESS_UPDATE") != "" {
		if err := os.WriteFile(compatibilityPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(compatibilityPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != page {
		t.Errorf("%s is out of date; write it anew with HARNESS_UPDATE=1", compatibilityPage)
	}
	if rows := contract.Rows(); len(rows) > 50 {
		t.Errorf("%d deliberate differences are more than a user can be asked to read", len(rows))
	}
	known := map[string]bool{}
	for _, operation := range contract.Operations() {
		known[operation.Method+" "+operation.Path] = true
	}
	for i, row := range contract.Rows() {
		if row.What == "" || row.Reason == "" {
			t.Errorf("row %d has no reason", i+1)
		}
		for _, route := range row.Routes {
			if !known[route] {
				t.Errorf("row %d names the unknown route %q", i+1, route)
			}
		}
	}
}
