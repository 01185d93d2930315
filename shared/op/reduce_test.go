package op

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley.internal/shared/fault"
)

func TestOfAListThatIsTooLongNoMemberIsLookedAt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"with bad members": {`{"id":"a","stories":[{"x":1},{},3]}`, []string{"stories: must have at most 2 members, not 3"}},
		"beside other problems": {`{"stories":[{},{},{}],"limit":99}`, []string{"id: is required",
			"limit: must be at most 50", "stories: must have at most 2 members, not 3"}},
		"as text": {`{"id":"a","stories":"[{},{},{}]"}`, []string{"stories: must have at most 2 members, not 3"}},
		"two of them": {`{"id":"a","stories":[1,2,3],"fallback":[{},{},{},{}]}`, []string{
			"fallback: must have at most 3 members, not 4", "stories: must have at most 2 members, not 3"}},
		"a repeated one": {`{"id":"a","stories":[1,2,3],"stories":[]}`, []string{"stories: must have at most 2 members, not 3"}},
	} {
		_, _, err := call(t, c.in)
		var got []string
		for _, p := range fault.From(err).Problems {
			got = append(got, p.Path+": "+p.Message)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestAtMost20ProblemsAreTold(t *testing.T) {
	t.Parallel()
	var fields strings.Builder
	for i := range 90 {
		fmt.Fprintf(&fields, `,"n%02d":[{}]`, i)
	}
	_, _, err := call(t, `{"id":"a"`+fields.String()+`}`)
	f := fault.From(err)
	if len(f.Problems) != 21 || f.Problems[0].Path != "n00" || f.Problems[20].Message != "and 70 more problems" {
		t.Errorf("got %d problems: %v", len(f.Problems), err)
	}
}

func TestAnObjectHasABoundedNumberOfFieldsAndLevels(t *testing.T) {
	t.Parallel()
	var names strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&names, `"n%d":"x",`, i)
	}
	many := "{" + strings.TrimSuffix(names.String(), ",") + "}"
	for in, want := range map[string]string{
		many:                               "must have at most 114 fields, not 1001",
		`{"id":"a","labels":` + many + `}`: "labels: must have at most 1000 fields, not 1001",
		`{"id":"a","numbers":[` + strings.Repeat("1,", 20_000) + `1]}`: "numbers: must have at most 20000 members, not 20001",
		`{"id":"a","numbers":[` + strings.Repeat("1,", 19_999) + `1]}`: "must have at most 20000 values",
	} {
		if _, _, err := call(t, in); !fault.Is(err, fault.Invalid) || err.Error() != want {
			t.Errorf("%.40s: got %.200v, want %s", in, err, want)
		}
	}
}
