package v1

import (
	"fmt"
	"net/http"

	"harness/internal/services/tasks"
)

// maxOrigin is the maximum length in bytes of a caller's id.
const maxOrigin = 256

// originOf reads how the caller identifies its request. The default request_id is the id of the HTTP request, which
// is also in the response and the log.
func originOf(w http.ResponseWriter, b body) (o tasks.Origin, err error) {
	for _, member := range []struct {
		name string
		into *string
	}{{"client_id", &o.ClientID}, {"request_id", &o.RequestID}, {"user_id", &o.UserID}} {
		if *member.into, err = b.text(member.name); err != nil {
			return o, err
		}
		if len(*member.into) > maxOrigin {
			return o, invalid(fmt.Sprintf("%s is longer than %d bytes", member.name, maxOrigin))
		}
	}
	if o.RequestID == "" {
		o.RequestID = w.Header().Get("X-Request-Id")
	}
	return o, nil
}
