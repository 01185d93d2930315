package op

import (
	"strings"
	"testing"
)

func TestARefusalNeedsTheParameterAtTheEndOfThePath(t *testing.T) {
	t.Parallel()
	o := New(sampleSpec, echo)
	within := New(spec(func(s *Spec) { s.Name, s.Route = "b", "POST /v1/samples/{id}/b" }), echo)
	for in, whole := range map[string]bool{
		`{"id":"x","limit":0}`: true,
		`{"id":"$task"}`:       true,
		`{"id":1}`:             true,
		`{"id":""}`:            false,
		`{"id":null}`:          false,
		`{"limit":0}`:          false,
	} {
		c := Cases{Examples: []Example{{}}, Refused: []Refusal{{Name: "r", In: in}}, Owned: []string{"id"},
			Rights: Rights{Program: May, Unbound: May, Human: May}}
		err := c.Check(&o)
		if whole != (err == nil) ||
			!whole && !strings.Contains(err.Error(), `refused "r": id is the end of the path and must not be empty`) {
			t.Errorf("%s: %v", in, err)
		}
	}
	c := Cases{Examples: []Example{{}}, Refused: []Refusal{{Name: "r", In: `{"id":""}`}}, Owned: []string{"id"},
		Rights: Rights{Program: May, Unbound: May, Human: May}}
	if err := c.Check(&within); err != nil {
		t.Errorf("within the path: %v", err)
	}
}
