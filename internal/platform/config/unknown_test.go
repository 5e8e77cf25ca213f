package config

import (
	"slices"
	"testing"
)

// An unknown name with a setting's prefix has no effect, and is reported.
func TestUnknownSettingNamesAreReported(t *testing.T) {
	t.Parallel()
	p := envPlace(t, "HARNESS_PROT=1", "HARNESS_TRUST=false", "HARNESS_TEST_X=1", "HARNESS_KEEP_RUNTIMES=true", "OTHER=1").
		file(".env", "HARNESS_ALOWED_HOSTS=x\nCOMPANY=1\n")
	c, err := p.load()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Unknown(), []string{"HARNESS_PROT", "HARNESS_ALOWED_HOSTS"}; !slices.Equal(got, want) {
		t.Errorf("unknown are %v, want %v", got, want)
	}
}
