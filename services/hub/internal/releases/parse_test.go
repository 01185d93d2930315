package releases

import (
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, text := range []string{`{"version":"v1.2.3","date":"2026-11-20T10:00:00Z","notes":"https://example.org/1"}`,
		`{"version":"v1.2.3-rc.1+b","date":"2026-11-20T10:00:00Z"}`, `{"version":"v1","date":"2026-11-20T10:00:00Z"}`, `{}`, `null`, `[`} {
		f.Add([]byte(text), "v1.2.3")
	}
	f.Fuzz(func(t *testing.T, text []byte, version string) {
		r, err := parse(text)
		if err != nil {
			return
		}
		if !valid(r.Version) || r.Date.IsZero() || r.Notes != "" && !strings.HasPrefix(strings.ToLower(r.Notes), "https://") {
			t.Errorf("%s is read as %+v", text, r)
		}
		if got := Compare(r.Version, r.Version); got != Current {
			t.Errorf("%s is %s beside itself", r.Version, got)
		}
		Compare(version, r.Version)
	})
}
