package shim_test

import (
	"context"
	"errors"
	"os"
	"time"

	"harness/internal/runtime/process/shim"
)

// attackArgument makes the test binary a process of the runtime that tries to become its own server. The run folder
// follows, then the path of the report.
const attackArgument = "attack-the-shim"

func attack(runDir, report string) int {
	result := "attached"
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	polls := time.Tick(5 * time.Millisecond)
	found, err := shim.Discover(runDir)
	for err == nil && (len(found) != 1 || found[0].State.Socket == "") && ctx.Err() == nil {
		<-polls // the shim starts its runtime before it publishes its socket
		found, err = shim.Discover(runDir)
	}
	if err == nil && len(found) == 1 {
		_, err = shim.Attach(ctx, found[0], 0, nil)
	}
	switch {
	case errors.Is(err, shim.ErrRefused):
		result = "refused: " + err.Error()
	case err != nil:
		result = "failed: " + err.Error()
	}
	if err := os.WriteFile(report+".new", []byte(result), 0o600); err != nil {
		return 1
	}
	if err := os.Rename(report+".new", report); err != nil {
		return 1
	}
	return 0
}
