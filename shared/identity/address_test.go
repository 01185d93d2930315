package identity

import "testing"

func FuzzParseAddress(f *testing.F) {
	for _, text := range []string{"192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]:443", "::ffff:192.0.2.1", "fe80::1%eth0",
		"[fe80::1%eth0]:1", "", "localhost", "1.2.3", "[::1]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		addr, ok := ParseAddress(text)
		if ok != addr.IsValid() || addr.Zone() != "" || addr.Is4In6() {
			t.Errorf("%q is read as %v, %v", text, addr, ok)
		}
		if again, _ := ParseAddress(addr.String()); ok && again != addr {
			t.Errorf("%q is read as %v, which is read as %v", text, addr, again)
		}
		if n := Network(text); Network(n) != n || !ok && n != text {
			t.Errorf("the network of %q is %q, and that of it %q", text, n, Network(n))
		}
	})
}
