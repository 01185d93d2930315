package hook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// The reasons for which a question about a permission request is taken back, as a person who answers too late reads them.
const (
	// Settled means that the person decided in the client's own prompt, or that the client went on in another way.
	Settled = "it was settled in the client, which has gone on"
	// TooLate means that nobody answered in time.
	TooLate = "nobody had answered in time, so the client asks by itself"
	// Gone means that there is no client any more that waits for the answer.
	Gone = "the client's session has ended"
)

// Asked is a permission request about which a person was asked.
type Asked struct {
	// Question is the question's id, and About the call that the request is for, as [Call.About] names it.
	Question, About string
	// Agent is the subagent that asks, as [Call.Agent] names it.
	Agent string
}

// String returns the request as one word, for [ParseAsked].
func (a Asked) String() string {
	agent := ""
	if a.Agent != "" {
		agent = sum(a.Agent)
	}
	return a.Question + "," + a.About + "," + agent
}

// ParseAsked returns a request from its word, in which the subagent is a sum.
func ParseAsked(word string) (Asked, bool) {
	parts := strings.Split(word, ",")
	if len(parts) != 3 || parts[0] == "" {
		return Asked{}, false
	}
	return Asked{Question: parts[0], About: parts[1], Agent: parts[2]}, true
}

// May reports whether events of this kind can settle permission requests.
func (k Kind) May() bool {
	switch k {
	case After, Turn, Interrupt, Prompt, Subagent, Start, Resume, End:
		return true
	}
	return false
}

// Settles returns those of the permission requests, as words, that this event shows to be settled in the client, and the
// reason. A call that is over settles the oldest request for it. The end of a turn settles the session's own requests, and
// that of a subagent its own, because others may go on.
func (c Call) Settles(words []string) (settled []string, reason string) {
	words = slices.Sorted(slices.Values(words)) // ids of questions are in the order of time
	own := ""
	if c.Agent != "" {
		own = sum(c.Agent)
	}
	for _, word := range words {
		a, ok := ParseAsked(word)
		if !ok {
			continue
		}
		switch c.Kind {
		case After:
			if ok = c.About != "" && a.About == c.About && a.Agent == own; ok {
				return []string{word}, Settled
			}
		case Turn, Interrupt, Prompt:
			ok = a.Agent == ""
		case Subagent:
			ok = own != "" && a.Agent == own
		default:
			ok = c.Kind.May()
		}
		if ok {
			settled = append(settled, word)
		}
	}
	if c.Kind == End || c.Kind == Start || c.Kind == Resume {
		return settled, Gone
	}
	return settled, Settled
}

// named names a tool's call by its tool and its command, or its whole input.
func named(tool, line string, in json.RawMessage) string {
	var b bytes.Buffer
	if line != "" {
		b.WriteString(line)
	} else if json.Compact(&b, in) != nil {
		return ""
	}
	return sum(tool + "\x00" + b.String())
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:16])
}
