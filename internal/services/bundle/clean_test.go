package bundle_test

import (
	"encoding/json"
	"strings"
	"testing"

	"harness/internal/services/bundle"
)

// planted returns kinds of secrets as agents and tools leak them; the value of each must not remain.
func planted() map[string]struct{ text, secret string } {
	const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg"
	return map[string]struct{ text, secret string }{
		"a key of OpenAI":       {"use sk-proj-abcdEFGH1234567890abcdEFGH please", "abcdEFGH1234567890"},
		"a key of Anthropic":    {"ANTHROPIC sk-ant-api03-zyxwvut9876543210-abc", "zyxwvut9876543210"},
		"a token of GitHub":     {"git clone with ghp_0123456789abcdefghijABCDEFGHIJ", "0123456789abcdefghij"},
		"a key of AWS":          {"aws AKIAIOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"},
		"a secret of AWS":       {"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"},
		"a key of Google":       {"key AIzaSyA-1234567890abcdefghijklmnopqrstu", "1234567890abcdefghij"},
		"a token of Slack":      {"xoxb-123456789012-abcdefghijkl", "123456789012-abcdefghijkl"},
		"a JSON web token":      {"token is " + jwt, "eyJzdWIiOiIxMjM0NTY3ODkwIn0"},
		"a bearer":              {"Authorization: Bearer abc.def_ghi-jkl~123", "abc.def_ghi-jkl"},
		"a URL with a password": {"postgres://app:hunter2hunter2@db.example.com/app", "hunter2hunter2"},
		"a private key": {
			"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjE\nAAAAsecond\n-----END OPENSSH PRIVATE KEY-----\nrest",
			"b3BlbnNzaC1rZXktdjE"},
		"a private key cut off":    {"-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7bq", "MIIEowIBAAKCAQEA7bq"},
		"a member of JSON":         {`{"refresh_token":"rt-plain-value-77"}`, "rt-plain-value-77"},
		"a member of JSON in JSON": {`{"a":"{\"client_secret\":\"inner-value-88\"}"}`, "inner-value-88"},
		"a parameter of a URL":     {"https://x.example/cb?code=oauth-code-99&x=1", "oauth-code-99"},
		"an assignment":            {"export DB_PASSWORD='correct horse'; DB_PASSWORD=batterystaple", "batterystaple"},
		"a cookie":                 {"Set-Cookie: session=s3ss10n-value; Path=/", "s3ss10n-value"},
		"a webhook":                {"https://hooks.slack.com/services/T000/B000/XXXXYYYYZZZZ", "XXXXYYYYZZZZ"},
	}
}

// OB-11: secrets of every kind are redacted in plain text, in JSON and in JSON within JSON, which stay JSON.
func TestSecretsAreTakenOut(t *testing.T) {
	t.Parallel()
	cleaner := bundle.NewCleaner("the-server's-own")
	for kind, c := range planted() {
		if !strings.Contains(c.text, c.secret) {
			t.Fatalf("%s is not planted", kind)
		}
		// In JSON, an escape may precede the secret, with its letter directly before it.
		once, err := json.Marshal(map[string]any{"before": "kept", "text": c.text, "next": "line\n" + c.text,
			"cell": "\t" + c.text, "tag": "<" + c.text, "after": "kept"})
		if err != nil {
			t.Fatal(err)
		}
		twice, err := json.Marshal(map[string]any{"inner": string(once), "after": 1})
		if err != nil {
			t.Fatal(err)
		}
		for form, text := range map[string][]byte{"plain": []byte(c.text), "JSON": once, "JSON in JSON": twice} {
			cleaned, taken := cleaner.Clean(text)
			if strings.Contains(string(cleaned), c.secret) || taken == 0 {
				t.Errorf("%s in %s is left: %s (%d taken)", kind, form, cleaned, taken)
			}
			if form == "plain" {
				continue
			}
			var value map[string]any
			if err := json.Unmarshal(cleaned, &value); err != nil || value["after"] == nil {
				t.Errorf("%s in %s is no JSON any more: %s (%v)", kind, form, cleaned, err)
			}
		}
	}
	if cleaned, taken := cleaner.Clean([]byte(`{"a":"the-server's-own"}`)); taken != 1 ||
		strings.Contains(string(cleaned), "own") {
		t.Errorf("a known secret is left: %s", cleaned)
	}
}

// Texts that are not secrets stay unchanged: numbers of tokens, hashes, ids, paths, words.
func TestWhatIsNoSecretIsKept(t *testing.T) {
	t.Parallel()
	cleaner := bundle.NewCleaner()
	for _, text := range []string{
		`{"input_tokens":12345678,"output_tokens":20,"raw":{"totalTokens":120}}`,
		`{"input_hash":"sha256:95cd7e2b5e4ff063f6160b07efe87302f68600da8aaa037dbb454ab473ffd81f"}`,
		`{"session_id":"01a20489-a91a-7421-9b1e-d7d048e27ec5","path":"/srv/web/tokens.go"}`,
		`{"text":"Run the tests of package secrets and read task-list-of-things-to-do.txt"}`,
		`{"url":"https://example.com:8080/a?page=2"}`,
		`{"method":"thread/tokenUsage/updated"}`,
	} {
		if cleaned, taken := cleaner.Clean([]byte(text)); string(cleaned) != text || taken != 0 {
			t.Errorf("%s became %s", text, cleaned)
		}
	}
}
