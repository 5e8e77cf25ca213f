package api

import (
	"encoding/json"
	"net/url"
	"strings"

	"harness/api/calls"
	"harness/api/rest"
	"harness/internal/lib/javascript"
)

// calledRoute is a route for the audit log, with its path parameters as the router matched them.
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

// protocolOf returns the audit log's name for the protocol of a route.
func protocolOf(path string) string {
	switch {
	case path == "/rpc":
		return "json-rpc"
	case strings.HasPrefix(path, "/v1"):
		return "tasks"
	}
	return "rest"
}

// codeOf returns the code in the body of a failure, "" for none.
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
