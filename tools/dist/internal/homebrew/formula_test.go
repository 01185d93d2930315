package homebrew

import (
	"strings"
	"testing"

	"parley.internal/tools/dist/internal/fake"
)

func TestAFormulaWithoutAnArchiveIsRefused(t *testing.T) {
	t.Parallel()
	sums := map[string]string{}
	for _, p := range []string{"darwin_arm64", "darwin_amd64", "linux_arm64", "linux_amd64"} {
		_, err := Formula(fake.Release, sums)
		if err == nil || !strings.Contains(err.Error(), "parley_1.2.3_"+p+".tar.gz: build all platforms") {
			t.Errorf("without %s: %v", p, err)
		}
		sums["parley_1.2.3_"+p+".tar.gz"] = strings.Repeat("a", 64)
	}
	text, err := Formula(fake.Release, sums)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`version "1.2.3"`, `bin.install "parley", "parley-hook"`, `license "Apache-2.0"`, `"THIRD_PARTY_LICENSES", "docs"`,
		`url "https://example.org/releases/v1.2.3/parley_1.2.3_darwin_arm64.tar.gz"`, `assert_equal "v1.2.3"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("it lacks %s:\n%s", want, text)
		}
	}
	blocks := strings.Count(string(text), " do\n") + len([]string{"class", "def"})
	if ends := strings.Count(string(text), "end\n"); ends != blocks {
		t.Errorf("%d blocks begin and %d end:\n%s", blocks, ends, text)
	}
}
