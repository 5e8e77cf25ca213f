package v1

import (
	"fmt"
	"net/http"

	"harness/internal/services/tasks"
)

// maxOrigin is how long (bytes) an id of a caller may be.
const maxOrigin = 256

// originOf reads what the caller says of itself. Without a request_id it is that of the HTTP request, which the answer and the
// log have, too.
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
