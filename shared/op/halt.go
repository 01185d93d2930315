package op

import (
	"context"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// Always is the Starts of an operation of which every call begins work or sends a message.
func Always(map[string]any) bool { return true }

// Never is the Starts of a writing operation that a paused caller may use: a report on work in progress, a sign of
// life, a word to its human, an end.
func Never(map[string]any) bool { return false }

// starts reports whether a call begins work or sends a message to agents.
func (o *Op) starts(fields map[string]any) bool {
	if o.Starts != nil {
		return o.Starts(fields)
	}
	return o.Effect >= Write
}

// halting finds the pauses that concern a call's caller.
type halting struct {
	pauses        func(ctx context.Context, user string) ([]identity.Pause, error)
	team, project string
}

type haltingKey struct{}

// speakers are the inputs by which a caller says under which name it acts.
var speakers = []string{"source", "author", "agent_name", "character_name", "challenger_name", "judge_name", "sender",
	"programId"}

// halt returns Paused if a pause forbids the call, and otherwise the caller with the pauses in force and the names that
// it acts under, and a context for [Halt]. before is the caller without the session of the input.
func (c *Catalogue) halt(
	ctx context.Context, o *Op, before, caller identity.Caller, fields map[string]any,
) (context.Context, identity.Caller, error) {
	if c.Pauses == nil || caller.IsHuman() || o.Open || !o.starts(fields) {
		return ctx, caller, nil
	}
	text := func(names ...string) string {
		for _, name := range names {
			if s, ok := fields[name].(string); ok && s != "" {
				return s
			}
		}
		return ""
	}
	if !caller.Bound() {
		for _, name := range speakers {
			if program, _, _ := strings.Cut(text(name), "/"); program != "" {
				caller.ActsAs = append(caller.ActsAs, program)
			}
		}
	}
	h := halting{pauses: c.Pauses, team: text("team_name"), project: text("projectId", "projectName", "project")}
	ctx = context.WithValue(ctx, haltingKey{}, h)
	if before.Session != caller.Session && before.Session != "" {
		if _, err := Halt(ctx, before); err != nil {
			return ctx, caller, err
		}
	}
	caller, err := Halt(ctx, caller)
	return ctx, caller, err
}

// Halt returns the caller with the pauses that are in force now, or Paused if one of them halts it. A call that waits
// asks again before it takes its result. It must not be called within a transaction. In a call that starts nothing it
// returns the caller as it is.
func Halt(ctx context.Context, c identity.Caller) (identity.Caller, error) {
	h, ok := ctx.Value(haltingKey{}).(halting)
	if !ok || c.IsHuman() {
		return c, nil
	}
	var err error
	if c.Pauses, err = h.pauses(ctx, c.User); err != nil {
		return c, fault.From(err)
	}
	return c, c.Paused(h.team, h.project)
}
