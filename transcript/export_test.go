package transcript

// WindowStatement is the statement of a window, for tests that ask the engine how it would run.
func WindowStatement(w Window, session string) (string, []any) { return w.statement(session, "") }
