package hook

import (
	"strings"
	"testing"

	"parley.internal/shared/hook/wire"
)

func TestATextHasNoCharacterThatATerminalObeys(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain, with \"quotes\" and ✓":   "plain, with \"quotes\" and ✓",
		"one\r\ntwo\nthree":              "one\ntwo\nthree",
		"a\ttab":                         "a tab",
		"\x1b[31mred\x1b[0m\a\x00\x7f":   "[31mred[0m",
		"left\u202eright\u2066\ufeff":    "leftright",
		"a family: 👩\u200d👧":             "a family: 👩\u200d👧",
		"next\u0085line, c1 \u009b31m":   "nextline, c1 31m",
		"tags \U000e0041\U000e0042 hide": "tags  hide",
	} {
		if got := clean(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestATextIsCutToItsRoomAsJSON(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]string{"plain": "a", "escaped": "<", "wide": "é", "quotes": `"`, "lines": "\n"} {
		text := strings.Repeat(unit, 2000)
		for _, room := range []int{leastText, 200, 333, 1024} {
			out, short, ok := cut(text, room)
			if !ok || !short || size(out) > room || size(out) < room-20 || !strings.HasSuffix(out, "…") {
				t.Errorf("%s: %d bytes for a room of %d, cut %t, ok %t", name, size(out), room, short, ok)
			}
		}
		if _, _, ok := cut(text, leastText-1); ok {
			t.Errorf("%s: a useless beginning is kept", name)
		}
	}
	if out, short, ok := cut("short", 7); out != "short" || short || !ok {
		t.Errorf("what fits is %q, cut %t, ok %t", out, short, ok)
	}
	if _, _, ok := cut("short", 6); ok {
		t.Error("what does not fit into little room is kept")
	}
}

func TestAnOutputIsShortenedByItsLeastUrgentParts(t *testing.T) {
	t.Parallel()
	out := wire.HookOutput{Mail: []wire.Mail{{Text: strings.Repeat("m", 4000)}},
		Files: &wire.Files{Verdict: wire.Deny, Reason: []string{strings.Repeat("r", 5000)}}}
	for range 10 {
		out.Others = append(out.Others, wire.Other{Directory: strings.Repeat("d", 500)})
	}
	for range 20 {
		out.Claims = append(out.Claims, wire.Claim{Title: strings.Repeat("t", 250)})
	}
	shorten(&out)
	if excess(&out) || len(out.Mail) != 1 || len(out.Claims) == 0 || len(out.Others) != 0 || out.Files.Reason == nil {
		t.Errorf("left are %d messages, %d claims, %d others", len(out.Mail), len(out.Claims), len(out.Others))
	}
}
