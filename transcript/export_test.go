package transcript

// WindowStatement returns the query of a window, for tests that ask the engine for its plan.
func WindowStatement(w Window, session string) (string, []any) { return w.statement(session, "") }
