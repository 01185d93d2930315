package feed

import (
	"context"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

// Service implements the operation of the feed.
type Service struct {
	DB *store.DB
}

// Input is the input of get_feed.
type Input struct {
	Cursor string `json:"cursor,omitempty" allow:"max=12000" jsonschema:"the one of your last reading; left out: begin with what happens from now on"`
	WaitMs int    `json:"waitMs,omitempty" allow:"wait=0" jsonschema:"wait this long for a first change"`
}

// Event is one change.
type Event struct {
	EventID string          `json:"eventId" jsonschema:"the same at every reading; a reader may get an event twice"`
	At      time.Time       `json:"at"`
	Kind    string          `json:"kind" jsonschema:"what has changed: task, question, message, session"`
	ID      string          `json:"id" jsonschema:"the object's id"`
	Change  store.EventKind `json:"change" allow:"enum=created|updated|deleted"`
	Line    string          `json:"line,omitempty" jsonschema:"the object in at most 300 characters"`
	State   string          `json:"state,omitempty"`
	Program string          `json:"program,omitempty" jsonschema:"whom it concerns"`
}

// Output is the output of get_feed.
type Output struct {
	Events    []Event `json:"events" jsonschema:"the changes of one object come in their order"`
	Cursor    string  `json:"cursor" jsonschema:"pass it to the next reading"`
	Truncated bool    `json:"truncated" jsonschema:"changes after your cursor are no longer kept: read again what you show"`
	More      bool    `json:"more,omitempty" jsonschema:"further changes can be read at once"`
}

// Operations returns the operation get_feed.
func (s *Service) Operations() []op.Op {
	return []op.Op{
		op.New(op.Spec{Name: "get_feed", Title: "See what has changed", Toolset: "pulse", Route: "GET /v1/feed",
			Effect: op.Read, For: op.Humans, RESTOnly: true, Cases: cases,
			Doc: "What has changed since a cursor, over all kinds of objects, for a human's view that keeps itself up to " +
				"date. Changes are kept for 7 days. With waitMs it waits for a first change."}, s.Get),
	}
}

// toolsets are the toolsets whose tools show the objects of a kind.
var toolsets = map[string]string{
	"task": "dispatch", "dream": "dream", "sprint": "sprint", "sprint-story": "sprint",
	"question": "signal", "alert": "signal", "device": "signal",
	"message": "relay", "group": "relay", "session": "pulse", "pause": "pauses", "files": "files",
	"council": "council", "fire": "campfire", "verification": "elenchus",
	"team": "team", "team_tasks": "team", "process": "team", "key": "keys", "passkey": "keys",
}

// ToolsetOf returns the toolset that a key must reach to see changes of a kind, empty for an unknown kind, which a key
// with scopes of single toolsets does not see.
func ToolsetOf(kind string) string { return toolsets[kind] }

// Get returns the changes after the cursor in the toolsets that the caller's scopes reach, and waits for a first one for at
// most WaitMs milliseconds. Without a cursor it returns at once, with the cursor of the present.
func (s *Service) Get(ctx context.Context, c identity.Caller, in Input) (Output, error) {
	t, out := s.DB.User(c.User), Output{Events: []Event{}, Cursor: in.Cursor}
	look := func(ctx context.Context) (bool, error) {
		page, err := t.Log(ctx, out.Cursor)
		if err != nil {
			return false, err
		}
		for _, e := range page.Entries {
			if !c.InToolset(ToolsetOf(e.Kind)) {
				continue
			}
			out.Events = append(out.Events, Event{EventID: e.EventID, At: e.At, Kind: e.Kind, ID: e.ID, Change: e.Change,
				Line: e.Line, State: e.State, Program: e.Program})
		}
		out.Cursor, out.Truncated, out.More = page.Next, page.Truncated, page.More
		return len(out.Events) > 0 || page.Truncated || page.More, nil
	}
	if in.Cursor == "" {
		_, err := look(ctx)
		return out, err
	}
	return out, store.WaitLog(ctx, t, time.Duration(in.WaitMs)*time.Millisecond, look)
}
