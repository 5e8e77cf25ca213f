package api_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

const routesPage = "../docs/routes.md"

const routesIntro = `# Routes

Every route of the server, from its OpenAPI document. The full schemas and examples are at ` + "`/api/docs`" + ` of a running server and in
` + "`GET /api/openapi.json`" + `. What the calls mean is in [api.md](api.md), [tasks.md](tasks.md), [stream.md](stream.md) and
[json-rpc.md](json-rpc.md).

A member with ` + "`?`" + ` is optional. The last column has the members of the answer and the statuses that are the route's own. Any route
may also answer with the common [errors](api.md#errors): 400, 401, 403, 404, 410, 413, 415, 421 and 5xx. ` + "`HEAD`" + ` works for
every ` + "`GET`" + `.

<!-- made from the document: HARNESS_UPDATE=1 go test ./api -run TestRoutePageIsCurrent -->
`

// The page of routes is generated from the OpenAPI document, which lists exactly the served routes
// (TestDocumentListsTheRoutes).
func TestRoutePageIsCurrent(t *testing.T) {
	t.Parallel()
	page := routesIntro + routeTables(readDocument(t))
	if os.Getenv("HARNESS_UPDATE") != "" {
		if err := os.WriteFile(routesPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if written, err := os.ReadFile(routesPage); err != nil || string(written) != page {
		t.Errorf("%s is out of date (%v); write it anew with HARNESS_UPDATE=1", routesPage, err)
	}
}

// routeTables returns a table for each tag of the document.
func routeTables(d *document) string {
	slices.SortFunc(d.routes, func(a, b documentedRoute) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.method, b.method))
	})
	rows := map[string][]string{}
	for _, r := range d.routes {
		rows[r.Tags[0]] = append(rows[r.Tags[0]], routeRow(r))
	}
	var out strings.Builder
	for _, tag := range d.Tags {
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n| route | what it does | query and body | answers |\n|---|---|---|---|\n%s", tag.Name, tag.Description,
			strings.Join(rows[tag.Name], ""))
	}
	return out.String()
}

func routeRow(r documentedRoute) string {
	var takes []string
	for _, parameter := range r.Parameters {
		if parameter.Value.In == openapi3.ParameterInQuery {
			takes = append(takes, optional(parameter.Value.Name, parameter.Value.Required))
		}
	}
	if r.RequestBody != nil {
		for media, content := range r.RequestBody.Value.Content {
			if members := membersOf(content.Schema, 0); strings.HasSuffix(media, "json") && len(members) > 0 {
				takes = append(takes, members...)
			} else if !strings.HasSuffix(media, "json") {
				takes = append(takes, media)
			}
		}
	}
	slices.Sort(takes)
	var list string
	if takes = slices.Compact(takes); len(takes) > 0 {
		list = "`" + strings.Join(takes, "` `") + "`"
	}
	return fmt.Sprintf("| `%s %s` | %s | %s | %s |\n", r.method, r.path, r.Summary, list, answers(r.Responses))
}

// commonStatuses are explained only once, in the page's list of errors.
var commonStatuses = []string{"400", "401", "403", "404", "410", "413", "415", "421", "500", "501", "503", "504", "default"}

// answers returns the statuses specific to the route, and the members of its success response.
func answers(responses *openapi3.Responses) string {
	var list []string
	for status, response := range responses.Map() {
		if slices.Contains(commonStatuses, status) {
			continue
		}
		line := "`" + status + "`"
		if status < "300" {
			if content := response.Value.Content.Get("application/json"); content != nil {
				if members := membersOf(content.Schema, 0); len(members) > 0 {
					line += " `" + strings.ReplaceAll(strings.Join(members, " "), "?", "") + "`"
				}
			}
		}
		list = append(list, line)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// membersOf returns the names of an object's members; for several alternatives, all names.
func membersOf(ref *openapi3.SchemaRef, depth int) (members []string) {
	if ref == nil || ref.Value == nil || depth > 3 {
		return nil
	}
	schema := ref.Value
	for name := range schema.Properties {
		members = append(members, optional(name, slices.Contains(schema.Required, name)))
	}
	for _, shapes := range []openapi3.SchemaRefs{schema.AllOf, schema.AnyOf, schema.OneOf} {
		for _, shape := range shapes {
			members = append(members, membersOf(shape, depth+1)...)
		}
	}
	slices.Sort(members)
	return slices.Compact(members)
}

func optional(name string, required bool) string {
	if required {
		return name
	}
	return name + "?"
}
