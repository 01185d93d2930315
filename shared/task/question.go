package task

import (
	"strings"
	"time"

	"parley.internal/shared/identity"
)

// Answer records the answer of a person. It returns Forbidden, and changes nothing, if the question demands more
// assurance than the caller has.
func (q *QuestionPart) Answer(c identity.Caller, response string, now time.Time) error {
	if err := c.Assured(q.Assurance, "this question"); err != nil {
		return err
	}
	q.Response, q.AnsweredAt, q.AnsweredWith = response, now, c.Acting()
	q.AnsweredBy = "key:" + strings.TrimPrefix(c.Actor(), "human:") // as firestore.rules demand of an app
	return nil
}
