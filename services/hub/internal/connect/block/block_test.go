package block_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/connect/block"
)

const body = "[a]\nb = 1\n"

func TestLinesAreAddedAndTakenOutByteForByte(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "x", "x\n", "x\r\n", "x\r\ny", "\n", "\n\n",
		"# >>> parley other (1 lines, x) >>>\n", "\xef\xbb\xbfx = 1"} {
		for name, style := range map[string]block.Style{"hash": block.Hash, "markdown": block.Markdown} {
			out := style.Add([]byte(in), "id", body)
			if got, found, err := style.Find(out, "id"); got != body || !found || err != nil {
				t.Errorf("%s %q: found %q, %t, %v in %q", name, in, got, found, err, out)
			}
			if strings.Contains(in, "\r\n") && bytes.Count(out, []byte("\n")) != bytes.Count(out, []byte("\r\n")) {
				t.Errorf("%s %q: mixed line ends in %q", name, in, out)
			}
			if back, err := style.Remove(out, "id"); err != nil || string(back) != in {
				t.Errorf("%s %q: %q, then %q, %v", name, in, out, back, err)
			}
			if same, err := style.Remove([]byte(in), "id"); err != nil || string(same) != in {
				t.Errorf("%s %q: without lines %q, %v", name, in, same, err)
			}
		}
	}
}

func TestTheFormIsStable(t *testing.T) {
	t.Parallel()
	const want = "x = 1\n# >>> parley id (2 lines, 07c5b180): added by `parley connect`, removed by `parley connect --remove` >>>\n" +
		"[a]\nb = 1\n# <<< parley id <<<\n"
	if got := block.Hash.Add([]byte("x = 1\n"), "id", body); string(got) != want {
		t.Errorf("got %s", got)
	}
}

func TestWhatOthersPutAroundTheLinesStays(t *testing.T) {
	t.Parallel()
	text := string(block.Hash.Add([]byte("x = 1\n"), "id", body))
	for want, changed := range map[string]string{
		"x = 1\ny = 2\n":             text + "y = 2\n",
		"# before\nx = 1\n":          "# before\n" + text,
		"x = 1\n[theirs]\nz = 3\n":   strings.Replace(text, "# <<<", "[theirs]\nz = 3\n# <<<", 1),
		"x = 1\n\n[theirs]\nz = 3\n": strings.Replace(strings.TrimSuffix(text, "\n"), "# <<<", "\n[theirs]\nz = 3\n# <<<", 1),
		"x = 1\n# >>> parley ido (":  text + "# >>> parley ido (",
		"x = 1\n# after\n":           strings.TrimSuffix(text, "\n") + "# after\n",
	} {
		if back, err := block.Hash.Remove([]byte(changed), "id"); err != nil || string(back) != want {
			t.Errorf("%q became %q, %v; want %q", changed, back, err, want)
		}
	}
}

func TestLinesThatWereChangedAreNotTouched(t *testing.T) {
	t.Parallel()
	text := string(block.Hash.Add([]byte("x = 1\n"), "id", body))
	for name, changed := range map[string]string{
		"another value":   strings.Replace(text, "b = 1", "b = 2", 1),
		"a line is gone":  strings.Replace(text, "b = 1\n", "", 1),
		"no first mark":   strings.Replace(text, "# >>>", "# ", 1),
		"no second mark":  strings.Replace(text, "# <<<", "# ", 1),
		"twice":           text + text,
		"marks swapped":   "# <<< parley id <<<\n# >>> parley id (0 lines, e3b0c442)\n",
		"a wrong count":   strings.Replace(text, "(2 lines", "(9999999999999999999 lines", 1),
		"a smaller count": strings.Replace(text, "(2 lines", "(-1 lines", 1),
	} {
		if out, err := block.Hash.Remove([]byte(changed), "id"); !errors.Is(err, block.ErrChanged) {
			t.Errorf("%s: %q, %v", name, out, err)
		}
		if _, _, err := block.Hash.Find([]byte(changed), "id"); !errors.Is(err, block.ErrChanged) {
			t.Errorf("%s is found: %v", name, err)
		}
	}
}

func FuzzRemove(f *testing.F) {
	f.Add([]byte(""), "a = 1\n")
	f.Add([]byte("x\r\ny"), "[a]\nb = 1\n")
	f.Add(block.Hash.Add([]byte("x"), "id", body), "z")
	f.Fuzz(func(t *testing.T, in []byte, body string) {
		if _, err := block.Hash.Remove(in, "id"); err != nil || strings.ContainsAny(body, "\r") || strings.Contains(body, "parley id") {
			return
		}
		if _, found, _ := block.Hash.Find(in, "id"); found {
			return
		}
		out := block.Hash.Add(in, "id", body)
		if back, err := block.Hash.Remove(out, "id"); err != nil || !bytes.Equal(back, in) {
			t.Fatalf("%q became %q and then %q, %v", in, out, back, err)
		}
	})
}
