package clients

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"harness/tests/programtest"
)

// checkSchema checks JSON against a schema of the server's own OpenRPC document.
func checkSchema(t *testing.T, server *programtest.Server, name string, value json.RawMessage) {
	t.Helper()
	checkAgainst(t, server, "#/components/schemas/"+name, value)
}

func checkAgainst(t *testing.T, server *programtest.Server, at string, value json.RawMessage) {
	t.Helper()
	_, body := server.Ask("GET", "/rpc/openrpc.json", nil)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("openrpc.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("openrpc.json" + at)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := jsonschema.UnmarshalJSON(strings.NewReader(string(value)))
	if err == nil {
		err = schema.Validate(decoded)
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", at, err, value)
	}
}
