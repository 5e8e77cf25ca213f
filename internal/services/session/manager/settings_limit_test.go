package manager

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"harness/internal/services/session"
)

// The settings of a scope are limited in number and in bytes.
func TestSettingsHaveABound(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		many := make([]string, 0, 2*session.MaxSettings)
		for i := range session.MaxSettings {
			many = append(many, "k"+strconv.Itoa(i), `1`)
		}
		for _, defaults := range []bool{false, true} {
			put := func(edit func(session.Controls) session.Controls) error {
				_, err := k.EditControls(t.Context(), s.ID, session.ControlEdit{Defaults: defaults, Edit: edit})
				return err
			}
			k.do(put(settings(many...)))
			var limit *session.SettingsLimitError
			err := put(settings(append(many, "one more", `1`)...))
			if !errors.As(err, &limit) || limit.Count != session.MaxSettings+1 ||
				!strings.Contains(err.Error(), "at most 256 of 131072 bytes") {
				t.Errorf("one setting too many: %v", err)
			}
			k.do(put(settings("large", `"`+strings.Repeat("x", session.MaxSettingsBytes-7)+`"`)))
			if err := put(settings("large", `"`+strings.Repeat("x", session.MaxSettingsBytes-6)+`"`)); !errors.As(err, &limit) ||
				limit.Bytes != session.MaxSettingsBytes+1 {
				t.Errorf("a byte too much: %v", err)
			}
			controls, of, err := k.Controls(t.Context(), s.ID)
			k.do(err)
			if defaults {
				controls = of
			}
			if len(controls.Settings["large"]) != session.MaxSettingsBytes-5 {
				t.Errorf("a refused edit changed the settings to %d bytes", len(controls.Settings["large"]))
			}
		}
	})
}
