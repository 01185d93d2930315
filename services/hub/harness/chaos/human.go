package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley.internal/services/hub/harness/chaos/caller"
	"parley.internal/services/hub/harness/chaos/witness"
)

// glance is how often a human looks whether there are questions.
const glance = 250 * time.Millisecond

// attend answers what agents ask, until nobody asks any more.
func (c *crew) attend(ctx context.Context) error {
	tick := time.NewTicker(glance)
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
		return c.told(err)
	}
	for _, q := range list.Questions {
		response := "the answer to " + q.Question
		var out struct{ Response string }
		call, err := c.human.Do(ctx, "answer_question", 0, map[string]any{"questionId": q.ID, "response": response}, &out)
		var refused *caller.Refusal
		// An answer that may have been given before is refused as given.
		if errors.As(err, &refused) && precondition(refused) && len(call.Unsure()) > 0 {
			err = nil
		}
		if err != nil {
			if err := c.told(err); err != nil {
				return err
			}
			continue
		}
		c.book.Answered(q.ID, response, last(call))
	}
	return nil
}

// told notes a refusal, and hands on what is none.
func (c *crew) told(err error) error {
	var refused *caller.Refusal
	if !errors.As(err, &refused) {
		return err
	}
	c.book.Violate(witness.Answers, refused.RequestID, "%v", refused)
	return nil
}
