package contract

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"hash"
	"strings"
	"time"
)

// freshen moves the times of a recorded bearer token to now and signs it again. A token that the recorded server
// could not verify stays unchanged.
func freshen(token, secret string, now time.Time) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || secret == "" {
		return token
	}
	var header struct{ Alg string }
	if raw, err := base64.RawURLEncoding.DecodeString(parts[0]); err != nil || json.Unmarshal(raw, &header) != nil {
		return token
	}
	hashes := map[string]func() hash.Hash{"HS256": sha256.New, "HS384": sha512.New384, "HS512": sha512.New}
	newHash := hashes[header.Alg]
	if newHash == nil || sign(newHash, secret, parts[0]+"."+parts[1]) != parts[2] {
		return token
	}
	var claims map[string]any
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(raw, &claims) != nil {
		return token
	}
	for _, name := range []string{"exp", "nbf", "iat"} {
		if at, is := claims[name].(float64); is && isTime(at) {
			claims[name] = int64(at) - jwtRecordedAt + now.Unix()
		}
	}
	if raw, err = json.Marshal(claims); err != nil {
		return token
	}
	payload := parts[0] + "." + base64.RawURLEncoding.EncodeToString(raw)
	return payload + "." + sign(newHash, secret, payload)
}

// jwtRecordedAt is when the tokens were created, in seconds.
const jwtRecordedAt = 1_795_224_815

func sign(newHash func() hash.Hash, secret, payload string) string {
	mac := hmac.New(newHash, []byte(secret))
	mac.Write([]byte(payload)) // a hash never fails
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// bearer freshens the token of an authorization header, in any spelling.
func bearer(value, secret string) string {
	fields := strings.Fields(value)
	if len(fields) < 2 {
		return value
	}
	token := fields[len(fields)-1]
	return strings.Replace(value, token, freshen(token, secret, time.Now()), 1)
}
