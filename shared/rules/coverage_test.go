package rules

import (
	"encoding/json"
	"net/http"
	"testing"
)

// node is an expression of the rules in the emulator's report, with its values. An expression that was skipped has
// values without a kind.
type node struct {
	SourcePosition struct {
		Line, Column             int
		CurrentOffset, EndOffset int
	}
	Values []struct {
		Value map[string]json.RawMessage
	}
	Children []*node
}

// missing returns the states that the expression never had: "evaluated", or "true" and "false" for a condition.
func (n *node) missing() []string {
	seen := map[string]bool{}
	for _, v := range n.Values {
		for kind, value := range v.Value {
			seen["evaluated"] = true
			if kind == "boolValue" {
				seen["a condition"], seen[string(value)] = true, true
			}
		}
	}
	switch {
	case !seen["evaluated"]:
		return []string{"evaluated"}
	case !seen["a condition"]:
		return nil
	}
	var out []string
	for _, value := range []string{"true", "false"} {
		if !seen[value] {
			out = append(out, value)
		}
	}
	return out
}

func (n *node) text(rules []byte) string {
	from, to := n.SourcePosition.CurrentOffset, n.SourcePosition.EndOffset+1
	if from < 0 || to > len(rules) || from >= to {
		return ""
	}
	return string(rules[from:to])
}

// coverage checks that every condition of the rules was true and was false in the requests so far.
func (p *project) coverage(t *testing.T) {
	var report struct{ Report []*node }
	out := p.ask(t, http.MethodGet, "ruleCoverage", nil)
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	expressions := 0
	var look func(*node)
	look = func(n *node) {
		expressions++
		missing := n.missing()
		for _, value := range missing {
			t.Errorf(
				"firestore.rules:%d:%d was never %s: %s",
				n.SourcePosition.Line,
				n.SourcePosition.Column,
				value,
				n.text(p.text),
			)
		}
		if len(missing) > 0 && missing[0] == "evaluated" {
			return // its parts were not evaluated either
		}
		for _, c := range n.Children {
			look(c)
		}
	}
	for _, n := range report.Report {
		look(n)
	}
	if expressions == 0 {
		t.Error("the report is empty")
	}
}
