package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley.internal/services/hub/harness/chaos/caller"
	"parley.internal/services/hub/harness/chaos/witness"
)

// questionInterval is the interval at which a human looks for questions.
const questionInterval = 250 * time.Millisecond

// answerQuestions answers the questions of the agents until c.done is closed.
func (c *crew) answerQuestions(ctx context.Context) error {
	tick := time.NewTicker(questionInterval)
	defer tick.Stop()
	for {
		if err := c.answerAll(ctx); err != nil {
			return fmt.Errorf("the human of %s: %w", c.user, err)
		}
		select {
		case <-tick.C:
		case <-c.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *crew) answerAll(ctx context.Context) error {
	var list struct {
		Questions []struct{ ID, Question string }
	}
	_, err := c.human.Do(ctx, "list_questions", 0, map[string]any{"limit": 20}, &list)
	if err != nil {
		return c.noteRefusal(err)
	}
	for _, q := range list.Questions {
		response := "the answer to " + q.Question
		var out struct{ Response string }
		args := map[string]any{"questionId": q.ID, "response": response}
		call, err := c.human.Do(ctx, "answer_question", 0, args, &out)
		var refused *caller.Refusal
		// If an earlier attempt may have stored the answer, the refusal of a second one is expected.
		if errors.As(err, &refused) && precondition(refused) && len(call.Unsure()) > 0 {
			err = nil
		}
		if err != nil {
			if err := c.noteRefusal(err); err != nil {
				return err
			}
			continue
		}
		c.book.Answered(q.ID, response)
	}
	return nil
}

// noteRefusal records a refusal as a violation and returns any other error.
func (c *crew) noteRefusal(err error) error {
	var refused *caller.Refusal
	if !errors.As(err, &refused) {
		return err
	}
	c.book.Violate(witness.Answers, refused.RequestID, "%v", refused)
	return nil
}
