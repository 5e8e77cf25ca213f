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

// parseVersion reads the version out of the userAgent codex reports, for example "harness/0.169.0 (Debian ...) ...".
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

// oldest is the oldest version this adapter was tried with.
var oldest = version{0, 101, 0}

// tooOld reports whether it cannot be used; an unknown version may be a custom build.
func (v version) tooOld() bool { return v != (version{}) && oldest.after(v) }

// lastOnFailure is the last version known to take the approval policy on-failure.
var lastOnFailure = version{0, 101, 0}

// lastWithoutArchived is the last version known not to report that a conversation was archived.
var lastWithoutArchived = version{0, 101, 0}

// reportsArchived is whether thread/archived may follow the answer to thread/archive.
func (v version) reportsArchived() bool { return v == (version{}) || v.after(lastWithoutArchived) }

// lastPlainDenial is the last version known to take a refusal of its oldest approvals as a word.
var lastPlainDenial = version{0, 101, 0}

// deniesWithReason is whether such a refusal is an object with a reason.
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

// approvalPolicy is the policy as this version of codex takes it. on-failure is gone from later ones; on-request is the
// nearest that asks rather than failing.
func (v version) approvalPolicy(policy string) string {
	if policy == "on-failure" && (v == (version{}) || v.after(lastOnFailure)) {
		return "on-request"
	}
	return policy
}
