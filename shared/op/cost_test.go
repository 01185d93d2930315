package op

import (
	"runtime"
	"strings"
	"testing"

	"parley.internal/shared/fault"
)

// allocated is how many bytes fn allocates. The caller's test is not parallel, so
// that no other adds to it.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Ten characters can name a number of a million digits; reading it exactly takes
// 0.1 s, and a body of 1 MiB has room for 90,000 of them.
func TestANumberOfManyDigitsCostsLittle(t *testing.T) {
	numbers := strings.TrimSuffix(strings.Repeat("1e1000000,", 40), ",")
	for name, args := range map[string]string{
		"large exponents": `{"id":"a","numbers":[` + numbers + `]}`,
		"small exponents": `{"id":"a","numbers":[` + strings.ReplaceAll(numbers, "e1", "e-1") + `]}`,
		"many digits":     `{"id":"a","limit":` + strings.Repeat("9", 50_000) + `}`,
		"as text":         `{"id":"a","limit":"` + strings.Repeat("9", 50_000) + `"}`,
	} {
		var err error
		used := allocated(func() { _, _, err = call(t, args) })
		if !fault.Is(err, fault.Invalid) || len(err.Error()) > 5000 {
			t.Errorf("%s: %.200v", name, err)
		}
		if used > 8<<20 {
			t.Errorf("%s: %d bytes of input took %d MB", name, len(args), used>>20)
		}
	}
}

// One problem a field is told, and no more than 20 are: a flood must not be built
// up in full before it is cut.
func TestAFloodOfUnknownFieldsCostsLittle(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"id":"a"`)
	for i := range 20_000 {
		b.WriteString(`,"`)
		b.WriteString(strings.Repeat("x", i%7+1))
		b.WriteString(string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) + `":1`)
	}
	b.WriteByte('}')
	var err error
	used := allocated(func() { _, _, err = call(t, b.String()) })
	if !fault.Is(err, fault.Invalid) || len(err.Error()) > 10_000 {
		t.Errorf("%.200v", err)
	}
	if used > 64<<20 {
		t.Errorf("%d KB of input took %d MB", b.Len()>>10, used>>20)
	}
}

// A path is as long as the input is deep, so naming every level is quadratic.
func TestADeepInputCostsLittle(t *testing.T) {
	const levels = 5000
	for name, args := range map[string]string{
		"objects": `{"id":"a","unknown":` + strings.Repeat(`{"`+strings.Repeat("n", 90)+`":`, levels) + "1" + strings.Repeat("}", levels) + `}`,
		"lists":   `{"id":"a","unknown":` + strings.Repeat(`[`, levels) + "1" + strings.Repeat("]", levels) + `}`,
	} {
		var err error
		used := allocated(func() { _, _, err = call(t, args) })
		if !fault.Is(err, fault.Invalid) || len(err.Error()) > 5000 {
			t.Errorf("%s: %.200v", name, err)
		}
		if used > 32<<20 {
			t.Errorf("%s: %d KB of input took %d MB", name, len(args)>>10, used>>20)
		}
	}
}
