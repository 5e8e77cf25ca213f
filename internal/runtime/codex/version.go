package codex

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// version is a codex version; zero when unknown.
type version struct{ major, minor, patch int }

var versionText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/(\d+)\.(\d+)\.(\d+)`) })

// parseVersion reads the version in codex's userAgent, for example "harness/0.169.0 (Debian ...) ...".
func parseVersion(userAgent string) version {
	m := versionText().FindStringSubmatch(userAgent)
	if m == nil {
		return version{}
	}
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0
		}
		return n
	}
	return version{number(m[1]), number(m[2]), number(m[3])}
}

func (v version) String() string {
	if v == (version{}) {
		return ""
	}
	return strings.Join([]string{strconv.Itoa(v.major), strconv.Itoa(v.minor), strconv.Itoa(v.patch)}, ".")
}

// oldest is the oldest supported version.
var oldest = version{0, 101, 0}

// tooOld reports whether a version is unsupported; an unknown one may be a custom build.
func (v version) tooOld() bool { return v != (version{}) && oldest.after(v) }

// lastOnFailure is the last version that accepts the approval policy on-failure.
var lastOnFailure = version{0, 101, 0}

// lastWithoutArchived is the last version that does not report archived conversations.
var lastWithoutArchived = version{0, 101, 0}

// reportsArchived reports whether thread/archived follows the answer to thread/archive.
func (v version) reportsArchived() bool { return v == (version{}) || v.after(lastWithoutArchived) }

// lastPlainDenial is the last version that accepts a plain refusal of its oldest approvals.
var lastPlainDenial = version{0, 101, 0}

// deniesWithReason reports whether such a refusal is an object with a reason.
func (v version) deniesWithReason() bool { return v == (version{}) || v.after(lastPlainDenial) }

func (v version) after(o version) bool {
	if v.major != o.major {
		return v.major > o.major
	}
	if v.minor != o.minor {
		return v.minor > o.minor
	}
	return v.patch > o.patch
}

// approvalPolicy returns the policy for this version of codex. Later ones have no on-failure; on-request is the
// nearest that requests approval instead of failing.
func (v version) approvalPolicy(policy string) string {
	if policy == "on-failure" && (v == (version{}) || v.after(lastOnFailure)) {
		return "on-request"
	}
	return policy
}
