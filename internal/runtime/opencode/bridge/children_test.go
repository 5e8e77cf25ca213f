package bridge

import "testing"

// Among the matching rules the last one counts, and among several patterns the strictest verdict.
func TestVerdict(t *testing.T) {
	t.Parallel()
	rules := []rule{{"*", "*", "ask"}, {"read", "*", "allow"}, {"bash", "touch *", "allow"},
		{"bash", "touch /etc*", "deny"}, {"edit", "a", "allow"}}
	for _, c := range []struct {
		permission string
		patterns   []string
		want       string
	}{
		{"read", []string{"x"}, "allow"}, {"read", nil, "allow"}, {"bash", []string{"ls"}, "ask"},
		{"bash", []string{"touch x"}, "allow"}, {"bash", []string{"touch"}, "allow"}, {"bash", []string{"touched x"}, "ask"},
		{"bash", []string{"touch x", "ls"}, "ask"}, {"bash", []string{"ls", "touch /etc/x"}, "deny"},
		{"edit", []string{"a"}, "allow"}, {"edit", []string{"ab"}, "ask"}, {"task", []string{"g"}, "ask"},
	} {
		if got := verdict(rules, c.permission, c.patterns); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.permission, c.patterns, got, c.want)
		}
	}
	if got := verdict(nil, "bash", []string{"ls"}); got != "ask" {
		t.Errorf("without rules: %s", got)
	}
}
