package op

import (
	"runtime"
	"strings"
	"testing"

	"parley.internal/shared/fault"
)

// allocated returns the number of bytes that fn allocates. A test that calls it must not be parallel, because the
// allocations of other tests would be counted too.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The ten characters of 1e1000000 denote a number with a million digits. Parsing it exactly takes 0.1 s, and a body of
// 1 MiB can contain 90,000 of them.
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

// An error lists at most 20 problems, one for each field. The problems beyond them must not be collected first and cut
// off afterwards.
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

// The length of a path grows with its depth, so the cost of naming every level would be quadratic.
func TestADeepInputCostsLittle(t *testing.T) {
	const levels = 5000
	for name, args := range map[string]string{
		"objects": `{"id":"a","unknown":` + strings.Repeat(`{"`+strings.Repeat("n", 90)+`":`, levels) + "1" +
			strings.Repeat("}", levels) + `}`,
		"lists": `{"id":"a","unknown":` + strings.Repeat(`[`, levels) + "1" + strings.Repeat("]", levels) + `}`,
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
