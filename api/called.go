package api

import (
	"encoding/json"
	"net/url"
	"strings"

	"harness/api/calls"
	"harness/api/rest"
	"harness/internal/lib/javascript"
)

// calledRoute is a route as the audit log has it, with the parameters of the path as the router found them.
func calledRoute(r *rest.Route, names, values []string) calls.Route {
	params := make(map[string]string, len(names))
	for i, name := range names {
		if value, err := url.PathUnescape(values[i]); err == nil {
			params[name] = value
		}
	}
	return calls.Route{Protocol: protocolOf(r.Path), Name: r.Method + " " + openAPIPath(r.Path), Params: params,
		OwnRecords: r.OwnRecords}
}

// protocolOf is the protocol of a route as the audit log calls it.
func protocolOf(path string) string {
	switch {
	case path == "/rpc":
		return "json-rpc"
	case strings.HasPrefix(path, "/v1"):
		return "tasks"
	}
	return "rest"
}

// codeOf is the code that a failure's body has, "" for none.
func codeOf(f rest.Failure) string {
	if body, is := f.Body.(rest.ErrorBody); is {
		return body.Code
	}
	var sent struct {
		Code string `json:"code"`
	}
	encoded, err := javascript.Encode(f.Body)
	if err != nil || json.Unmarshal(encoded, &sent) != nil {
		return ""
	}
	return sent.Code
}
