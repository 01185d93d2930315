package release

import (
	"strings"
	"testing"
	"time"
)

func TestAReleaseThatNotEveryArtifactTakesIsRefused(t *testing.T) {
	t.Parallel()
	good := Release{Version: "v1.2.3", Time: time.Unix(1_700_000_000, 0), URL: "https://example.org/releases"}
	for _, v := range []string{"v1.2.3", "v0.0.0-20261122234500-37f06080aaaa", "v1.2.3-rc.1", "v1.2.3-4-g37f0608-dirty"} {
		r := good
		r.Version = v
		if err := r.Check(); err != nil {
			t.Errorf("%s: %v", v, err)
		}
	}
	for name, c := range map[string]struct {
		change func(*Release)
		want   string
	}{
		"no version":       {func(r *Release) { r.Version = "" }, "give VERSION"},
		"a hash":           {func(r *Release) { r.Version = "37f0608" }, "give VERSION"},
		"no v":             {func(r *Release) { r.Version = "1.2.3" }, "give VERSION"},
		"two numbers":      {func(r *Release) { r.Version = "v1.2" }, "give VERSION"},
		"no time":          {func(r *Release) { r.Time = time.Unix(0, 0) }, "SOURCE_DATE_EPOCH"},
		"no address":       {func(r *Release) { r.URL = "" }, "DIST_URL"},
		"an open address":  {func(r *Release) { r.URL = "http://example.org" }, "DIST_URL"},
		"notes for all":    {func(r *Release) { r.Notes = "http://example.org/notes" }, "DIST_NOTES"},
		"code of a script": {func(r *Release) { r.URL = `https://example.org/"; system("x` }, "DIST_URL"},
	} {
		r := good
		c.change(&r)
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAListOfPlatformsNamesOnlyThoseOfReleases(t *testing.T) {
	t.Parallel()
	if all, err := Parse(""); err != nil || len(all) != 6 {
		t.Errorf("%v, %v", all, err)
	}
	if some, err := Parse("linux/arm64,windows/amd64"); err != nil || len(some) != 2 || some[0] != (Platform{"linux", "arm64"}) {
		t.Errorf("%v, %v", some, err)
	}
	for _, list := range []string{"linux", "linux/amd64,", "plan9/amd64"} {
		if _, err := Parse(list); err == nil || !strings.Contains(err.Error(), "name some of") {
			t.Errorf("%s: %v", list, err)
		}
	}
}

func TestAnArtifactIsBelowItsVersion(t *testing.T) {
	t.Parallel()
	r := Release{Version: "v1.2.3", URL: "https://example.org/releases/"}
	name := r.Base(Platform{"linux", "amd64"}) + ".tar.gz"
	if got := r.Address(name); got != "https://example.org/releases/v1.2.3/parley_1.2.3_linux_amd64.tar.gz" {
		t.Error(got)
	}
}

func TestTheDocumentOfTheNewestReleaseHasItsVersionAndItsDate(t *testing.T) {
	t.Parallel()
	r := Release{Version: "v1.2.3", Time: time.Unix(1_700_000_000, 0), Notes: "https://example.org/notes"}
	text, err := r.Newest()
	if want := "{\n  \"version\": \"v1.2.3\",\n  \"date\": \"2023-11-14T22:13:20Z\",\n  \"notes\": \"https://example.org/notes\"\n}\n"; err != nil ||
		string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
}
