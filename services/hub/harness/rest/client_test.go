package rest_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/client"
	"parley.internal/shared/council"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/fault"
	"parley.internal/shared/overview"
	"parley.internal/shared/relay"
	"parley.internal/shared/team"
)

func TestTheTypedClientWorksThroughATask(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	alpha, beta := hub.Client(hub.Agent("u", "alpha")), hub.Client(hub.Agent("u", "beta"))
	ctx, no := t.Context(), false
	made, err := alpha.CreateTask(ctx, dispatch.CreateInput{
		Title: "Mend <it> & go", Target: "beta", Instructions: "all", Fallback: []string{"x", "alpha"},
	})
	hubtest.Must(t, err)
	if made.TaskID == "" || made.Source != "alpha" || !made.Verified || made.CreatedAt.IsZero() {
		t.Errorf("created %+v", made)
	}
	list, err := beta.GetTasks(ctx, dispatch.ListInput{Target: "beta", Limit: 1, IncludeInstructions: &no})
	hubtest.Must(t, err)
	if len(list.Tasks) != 1 || list.Tasks[0].Title != "Mend <it> & go" || list.Tasks[0].Instructions != "" ||
		len(list.Tasks[0].Fallback) != 2 {
		t.Errorf("listed %+v", list)
	}
	claimed, err := beta.ClaimTask(ctx, dispatch.ClaimInput{TaskID: made.TaskID, SessionID: "s"})
	hubtest.Must(t, err)
	_, err = alpha.ClaimTask(ctx, dispatch.ClaimInput{TaskID: made.TaskID})
	var e *client.Error
	if !fault.Is(err, fault.Precondition) || !errors.As(err, &e) || e.Uncertain || e.Status != http.StatusConflict {
		t.Errorf("a second claim: %+v", err)
	}
	done, err := beta.CompleteTask(ctx,
		dispatch.CompleteInput{TaskID: made.TaskID, ClaimToken: claimed.ClaimToken, Result: "done"})
	hubtest.Must(t, err)
	read, err := alpha.GetTask(ctx, dispatch.TaskInput{TaskID: made.TaskID})
	if err != nil || read.Result != done.Result || read.CompletedAt.IsZero() {
		t.Errorf("read %+v, %v", read, err)
	}
}

func TestTheTypedClientCallsRoutesOfEveryShape(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	ctx := t.Context()
	alpha, human := hub.Client(hub.Agent("u", "alpha")), hub.Client(hub.Human("u"))
	_, err := alpha.SetGroup(ctx, relay.SetGroupInput{Name: "g", Members: []string{"alpha", "beta"}})
	hubtest.Must(t, err)
	if out, err := alpha.ListGroups(ctx, relay.ListGroupsInput{}); err != nil || len(out.Groups) != 1 {
		t.Errorf("groups %+v, %v", out, err)
	}
	_, err = alpha.StartCouncil(ctx, council.StartInput{AgentName: "alpha", Request: "which?"})
	hubtest.Must(t, err)
	current, err := alpha.GetCurrentSessionData(ctx, council.GetInput{AgentName: "alpha"})
	if err != nil || current.SessionID == "" {
		t.Errorf("the council without its id: %+v, %v", current, err)
	}
	_, err = alpha.TeamCreate(ctx, team.CreateInput{TeamName: "core"})
	hubtest.Must(t, err)
	_, err = alpha.TeamSpawnTeammate(ctx,
		team.SpawnInput{TeamName: "core", Name: "mate", Prompt: "wait", BackendType: team.External})
	hubtest.Must(t, err)
	zero := 0
	poll := team.PollInput{TeamName: "core", AgentName: "mate", TimeoutMs: &zero}
	if out, err := alpha.TeamPollInbox(ctx, poll); err != nil || len(out.Messages) == 0 {
		t.Errorf("the inbox: %+v, %v", out, err)
	}
	if _, err := human.GetOverview(ctx, overview.Input{}); err != nil {
		t.Errorf("the overview: %v", err)
	}
	if _, err := alpha.GetOverview(ctx, overview.Input{}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("an agent's overview: %v", err)
	}
	if _, err := alpha.TeamDelete(ctx, team.NameInput{TeamName: "none"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("the deletion of nothing: %v", err)
	}
	_, err = alpha.CreateTask(ctx, dispatch.CreateInput{Priority: "urgent"})
	if f := fault.From(err); f.Kind != fault.Invalid || len(f.Problems) < 3 {
		t.Errorf("an input that is wrong: %+v", f)
	}
	_, err = hub.Client("nonsense").ListGroups(ctx, relay.ListGroupsInput{})
	if !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("an unknown key: %v", err)
	}
	if h, err := hub.Client("").Health(ctx); err != nil || h.Version != hubtest.Version {
		t.Errorf("health: %+v, %v", h, err)
	}
}

// forgetful is a transport that loses the first response.
type forgetful struct {
	http.RoundTripper
	calls atomic.Int64
}

func (f *forgetful) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := f.RoundTripper.RoundTrip(r)
	if f.calls.Add(1) == 1 && err == nil {
		return nil, errors.Join(errors.New("lost"), res.Body.Close())
	}
	return res, err
}

func TestACreationWhoseResponseWasLostIsRepeatedAndTakesEffectOnce(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	lossy := &forgetful{RoundTripper: transport}
	c := hub.Client(hub.Agent("u", "alpha"), client.WithHTTPClient(&http.Client{Transport: lossy}))
	made, err := c.CreateTask(t.Context(), dispatch.CreateInput{Title: "once", Target: "alpha"})
	hubtest.Must(t, err)
	list, err := c.GetTasks(t.Context(), dispatch.ListInput{Target: "alpha"})
	if err != nil || len(list.Tasks) != 1 || list.Tasks[0].ID != made.TaskID || lossy.calls.Load() != 3 {
		t.Errorf("made %s in %d calls, listed %+v, %v", made.TaskID, lossy.calls.Load(), list, err)
	}
}

func TestAWaitOfTheClientEndsWithTheEvent(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	alpha, beta := hub.Client(hub.Agent("u", "alpha")), hub.Client(hub.Agent("u", "beta"))
	began := time.Now()
	asked := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		out, err := client.Await(t.Context(), beta, time.Minute,
			func(ctx context.Context, wait time.Duration) (dispatch.ListOutput, bool, error) {
				close(asked)
				out, err := beta.GetTasks(ctx, dispatch.ListInput{Target: "beta", WaitMs: int(wait.Milliseconds())})
				return out, len(out.Tasks) > 0, err
			})
		if err == nil && len(out.Tasks) != 1 {
			err = errors.New("no task came")
		}
		done <- err
	}()
	<-asked
	_, err := alpha.CreateTask(t.Context(), dispatch.CreateInput{Title: "wake", Target: "beta"})
	hubtest.Must(t, err)
	if err := <-done; err != nil || time.Since(began) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
