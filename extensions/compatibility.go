package extensions

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"

	"harness/extensions/sdk"
)

// CompatibilitySummary says whether this runtime meets an extension's requirements. The keys are codex-manager's.
type CompatibilitySummary struct {
	APIVersion      *int     `json:"apiVersion"`
	APIVersionRange *string  `json:"apiVersionRange"`
	RuntimeVersion  int      `json:"runtimeVersion"`
	ProfileID       string   `json:"profileId"`
	ProfileVersion  string   `json:"profileVersion"`
	Compatible      bool     `json:"compatible"`
	Reasons         []string `json:"reasons"`
}

// compatibility checks a manifest's requirements against a profile. Without a runtime member it accepts every profile.
func compatibility(manifest *Manifest, profile sdk.Profile) CompatibilitySummary {
	summary := CompatibilitySummary{RuntimeVersion: profile.CoreAPIVersion, ProfileID: profile.RuntimeProfileID,
		ProfileVersion: profile.RuntimeProfileVersion, Reasons: []string{}}
	if manifest == nil || manifest.Runtime == nil {
		summary.Compatible = true
		return summary
	}
	required := manifest.Runtime
	summary.APIVersion = required.CoreAPIVersion
	refuse := func(format string, args ...any) {
		summary.Reasons = append(summary.Reasons, fmt.Sprintf(format, args...))
	}
	if required.CoreAPIVersion != nil && *required.CoreAPIVersion != profile.CoreAPIVersion {
		refuse("requires coreApiVersion=%d; runtime=%d", *required.CoreAPIVersion, profile.CoreAPIVersion)
	}
	if required.CoreAPIVersionRange != "" {
		summary.APIVersionRange = &required.CoreAPIVersionRange
		if !inRange(fmt.Sprintf("%d.0.0", profile.CoreAPIVersion), required.CoreAPIVersionRange) {
			refuse("requires coreApiVersionRange=%s; runtime=%d", required.CoreAPIVersionRange, profile.CoreAPIVersion)
		}
	}
	if len(required.Profiles) > 0 {
		fitProfile(required.Profiles, profile, refuse)
	}
	summary.Compatible = len(summary.Reasons) == 0
	return summary
}

func fitProfile(profiles []ProfileRequirement, profile sdk.Profile, refuse func(string, ...any)) {
	for _, required := range profiles {
		if required.Name != profile.RuntimeProfileID {
			continue
		}
		if required.Version != "" && !sameVersion(required.Version, profile.RuntimeProfileVersion) {
			refuse("requires profile version %s; runtime=%s", required.Version, profile.RuntimeProfileVersion)
		}
		if required.VersionRange != "" && !inRange(profile.RuntimeProfileVersion, required.VersionRange) {
			refuse("requires profile versionRange %s; runtime=%s", required.VersionRange, profile.RuntimeProfileVersion)
		}
		return // only the first entry with that name counts
	}
	refuse("profile %s is not declared in manifest runtime.profiles", profile.RuntimeProfileID)
}

// firstVersion finds a version in any text, like coerce of node-semver.
var firstVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d{1,16}(\.\d{1,16}(\.\d{1,16})?)?`) })

func version(text string) *semver.Version {
	text = strings.TrimSpace(text)
	if parsed, err := semver.NewVersion(text); err == nil {
		return parsed
	}
	parsed, err := semver.NewVersion(firstVersion().FindString(text))
	if err != nil {
		return nil
	}
	return parsed
}

func sameVersion(a, b string) bool {
	left, right := version(a), version(b)
	if left == nil || right == nil {
		return strings.TrimSpace(a) == strings.TrimSpace(b)
	}
	return left.Equal(right)
}

// inRange reports whether a version satisfies a range; a prerelease counts as its release. An invalid range matches
// nothing.
func inRange(text, demanded string) bool {
	actual := version(text)
	if actual == nil {
		return false
	}
	constraint, err := semver.NewConstraint(demanded)
	if err != nil {
		return false
	}
	constraint.IncludePrerelease = true
	return constraint.Check(actual)
}
