package auth

import "net/http"

// The methods and headers that pages of the listed origins may also use. Credentials are not allowed: the login
// cookie is for our own pages, and a page sets Authorization itself.
const (
	corsMethods = "GET, HEAD, POST, PATCH, DELETE"
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, If-None-Match, Traceparent, X-Request-Id"
	corsExposed = "ETag, Idempotency-Replayed, Retry-After, WWW-Authenticate, X-Request-Id"
	corsMaxAge  = "600" // seconds
)

// allowCORS lets pages of the listed origins read the answer, and answers their preflight requests itself (done). Other
// origins get the answer without CORS headers. CORS does not apply to websockets.
func allowCORS(w http.ResponseWriter, r *http.Request, allowed []string) (done bool) {
	if len(allowed) == 0 || r.Header.Get("Upgrade") != "" {
		return false
	}
	header := w.Header()
	header.Add("Vary", "Origin")
	origins := r.Header.Values("Origin")
	if len(origins) != 1 || !originListed(origins[0], allowed) {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origins[0])
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		header.Set("Access-Control-Expose-Headers", corsExposed)
		return false
	}
	header.Set("Access-Control-Allow-Methods", corsMethods)
	header.Set("Access-Control-Allow-Headers", corsHeaders)
	header.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
	return true
}
