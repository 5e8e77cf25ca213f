package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"harness/api"
)

const securityPage = "../../docs/security.md"

// The page of permissions is generated from the routes. HARNESS_UPDATE=1 regenerates it.
func TestTheRoleMatrixIsCurrent(t *testing.T) {
	const begin, end = "<!-- made from the routes: HARNESS_UPDATE=1 go test ./cmd/harness -run " +
		"TestTheRoleMatrixIsCurrent -->\n", "<!-- end -->\n"
	written, err := os.ReadFile(securityPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(written), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the matrix", securityPage)
	}
	page := before + begin + roleMatrix() + end + after
	if os.Getenv("HARNESS_UPDATE") != "" {
		if err := os.WriteFile(securityPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(written) != page {
		t.Errorf("%s is out of date; write it anew with HARNESS_UPDATE=1", securityPage)
	}
}

// roleMatrix lists every operation with the roles that may call it.
func roleMatrix() string {
	var out strings.Builder
	out.WriteString("| operation | local (no token set), owner token | named token | extension role | agent |\n|---|---|---|---|---|\n")
	for _, operation := range api.Operations() {
		anybody, role, agent := "yes", "–", operation.Agent
		switch {
		case strings.HasPrefix(operation.Path, "/api/agents/extensions") && operation.Method == http.MethodGet:
			role = "member, admin, owner, system"
		case strings.HasPrefix(operation.Path, "/api/agents/extensions"):
			role = "admin, owner, system"
		case operation.Path == "/api/health":
			anybody = "yes, and without the token"
		}
		if agent == "" {
			agent = "no"
		}
		fmt.Fprintf(&out, "| `%s %s` | %s | %s | %s | %s |\n", operation.Method, operation.Path, anybody,
			strings.Join(operation.Roles, ", "), role, agent)
	}
	return out.String()
}
