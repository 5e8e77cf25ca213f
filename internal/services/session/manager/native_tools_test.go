package manager

import (
	"errors"
	"slices"
	"testing"

	"harness/internal/runtime"
	"harness/internal/services/session"
)

// Whether an agent has native tools is set when its session is opened and known after a restart. A runtime without
// such a setting refuses it; a session opened without the setting has native tools.
func TestNativeToolsOfASession(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		var refused *runtime.ControlError
		if _, err := k.Create(t.Context(), session.Create{NativeTools: "off"}); !errors.As(err, &refused) ||
			refused.Field != "nativeTools" || !slices.Equal(refused.Enforced, []string{"on"}) || len(k.fake.began) != 0 {
			t.Errorf("a runtime without the setting: %v", err)
		}
		k.fake.nativeToolsOff = true
		plain := k.create()
		bare, err := k.Create(t.Context(), session.Create{NativeTools: "off"})
		k.do(err)
		if k.fake.began[0].NativeToolsOff || !k.fake.began[1].NativeToolsOff {
			t.Errorf("the runtime received %+v", k.fake.began)
		}
		k = k.reopenKnown()
		for id, want := range map[string]bool{plain.ID: false, bare.ID: true, "unknown": false} {
			if off, err := k.NativeToolsOff(t.Context(), id); err != nil || off != want {
				t.Errorf("%s: off %v, %v", id, off, err)
			}
		}
	})
}
