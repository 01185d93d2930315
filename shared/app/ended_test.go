package app

import (
	"testing"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/dream"
	"parley.internal/shared/fault"
	"parley.internal/shared/hook/wire"
	"parley.internal/shared/op"
	"parley.internal/shared/sprint"
)

func TestAnEndedSessionClaimsNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		ctx, person := t.Context(), domaintest.Human("u")
		session := o.start(alpha, "one")
		o.hook(alpha, wire.HookInput{Event: wire.End, Thread: "one"})
		task, err := o.Dispatch.Create(ctx, person, op.Fill(dispatch.CreateInput{Title: "t", Target: "alpha"}))
		domaintest.Check(t, err)
		night, err := o.Dispatch.Create(ctx, person, op.Fill(dispatch.CreateInput{Title: "d", Target: "alpha", Type: "dream"}))
		domaintest.Check(t, err)
		plan, err := o.Sprint.Create(ctx, person, op.Fill(sprint.CreateInput{ProjectName: "p", Branch: "b",
			Stories: []sprint.Planned{op.Fill(sprint.Planned{Draft: sprint.Draft{ID: "s", Title: "s"}})}}))
		domaintest.Check(t, err)
		for name, claim := range map[string]func(session string) error{
			"claim_task": func(session string) error {
				_, err := o.Dispatch.Claim(ctx, alpha, op.Fill(dispatch.ClaimInput{TaskID: task.TaskID, SessionID: session}))
				return err
			},
			"claim_next_task": func(session string) error {
				_, err := o.Dispatch.ClaimNext(ctx, alpha, op.Fill(dispatch.NextInput{SessionID: session}))
				return err
			},
			"dream_activate": func(session string) error {
				_, err := o.Dream.Activate(ctx, alpha, op.Fill(dream.ActivateInput{DreamID: night.TaskID, SessionID: session}))
				return err
			},
			"update_sprint_story": func(session string) error {
				_, err := o.Sprint.Update(ctx, alpha, op.Fill(sprint.UpdateInput{SprintID: plan.SprintID, StoryID: "s", Status: "active",
					SessionID: session}))
				return err
			},
		} {
			domaintest.Refused(t, name, claim(session), fault.Precondition, session, "has ended; claim in one that is live")
			if name != "claim_task" { // of the two one gets the task
				domaintest.Check(t, claim(o.start(alpha, "two")))
			}
		}
	})
}
