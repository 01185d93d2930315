package caller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley.internal/services/hub/harness/chaos/typescript"
)

// overTypeScript makes one request with a TypeScript SDK, whose timeout is the time that the call or its context has. As
// with Go's SDK it is judged by what came over the network, except that the agent of a call that the SDK has given up saw
// nothing of it.
func (c *Caller) overTypeScript(ctx context.Context, name, id string, limit time.Duration, args map[string]any) judgement {
	timeout, ending := limit, false
	if end, has := ctx.Deadline(); has && time.Until(end) < limit {
		timeout, ending = max(time.Until(end), time.Millisecond), true
	}
	a, err := c.TypeScript.Call(ctx, typescript.Call{Tool: name, Arguments: args, RequestID: id, Timeout: timeout.Milliseconds()})
	switch {
	case err != nil:
		return unsent(err)
	case a.Unconnected:
		return judgement{verdict: again, outcome: "no session"}
	case a.GaveUp:
		switch {
		case ending:
			<-ctx.Done() // the timeout is a whole number of milliseconds
		case ctx.Err() == nil:
			c.stuck(name, id)
		}
		return judgement{verdict: unknown, outcome: "no answer"}
	}
	var sent error
	if a.Failed != "" {
		sent = errors.New(a.Failed)
	}
	j := judge(a.Response(), []byte(a.Body), sent)
	if made := a.Result != nil && !a.Result.IsError; made != (j.verdict == success) {
		return unsent(fmt.Errorf("the SDK makes %+v, %q of %.300s", a.Result, a.Error, a.Body))
	}
	return j
}
