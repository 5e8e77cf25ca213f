package stream

// SignalName returns the part of a signal's event name after "app_server." or "app_server.request.": the runtime method
// in dotted snake_case.
func SignalName(method string) string { return signalName(method) }
