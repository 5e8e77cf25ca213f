package main

import (
	"context"

	"harness/auth"
	"harness/journal"
	"harness/telemetry"
)

// origin tells the journal who asked for a change and in which trace.
func origin(ctx context.Context) journal.Origin {
	trace := telemetry.IDsFrom(ctx).Trace
	principal, _ := auth.PrincipalFrom(ctx)
	return journal.Origin{Actor: principal.Actor, Role: roleWord(principal), TraceID: trace.TraceID, SpanID: trace.SpanID}
}

// roleWord is a principal's role as tokens call it.
func roleWord(principal auth.Principal) string {
	if principal.Role == auth.RoleMember {
		return "viewer"
	}
	return string(principal.Role)
}
