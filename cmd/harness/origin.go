package main

import (
	"context"

	"harness/internal/platform/auth"
	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
)

// origin tells the journal who asked for a change and in which trace.
func origin(ctx context.Context) journal.Origin {
	trace := telemetry.IDsFrom(ctx).Trace
	principal, _ := auth.PrincipalFrom(ctx)
	return journal.Origin{Actor: principal.Actor, Role: principal.Role.Word(), TraceID: trace.TraceID, SpanID: trace.SpanID}
}
