package config_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"harness/internal/platform/config"
)

// The example environment file names existing settings, with valid values.
func TestTheExampleNamesSettings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../.env.example")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?m)^#([A-Z_]+)=`).FindAllSubmatch(text, -1)
	if len(named) < 10 {
		t.Errorf("it names %d settings", len(named))
	}
	for _, name := range named {
		if !slices.ContainsFunc(config.Variables(), func(v config.Variable) bool { return v.Name == string(name[1]) }) {
			t.Errorf("%s is no setting", name[1])
		}
	}
}
