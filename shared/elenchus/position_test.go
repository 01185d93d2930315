package elenchus

import "testing"

func FuzzPosition(f *testing.F) {
	for _, text := range []string{"", "1.0", "7.4096", "0.0", "1", "1.", "-1.2", "1.-2", "01.2", "1.2.3", "9223372036854775808.0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePosition(text)
		switch {
		case err != nil && p != (position{}):
			t.Errorf("%q is refused, and is %+v", text, p)
		case err == nil && text != "" && (p.String() != text || p.tick < 1 || p.from < 0):
			t.Errorf("%q is read as %+v", text, p)
		}
	})
}
