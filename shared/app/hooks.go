package app

import (
	"context"
	"time"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/files"
	"parley.internal/shared/hook"
	"parley.internal/shared/hook/wire"
	"parley.internal/shared/identity"
	"parley.internal/shared/ledger"
	"parley.internal/shared/pauses"
	"parley.internal/shared/pulse"
	"parley.internal/shared/relay"
	"parley.internal/shared/store"
)

// seats keeps the sessions of clients' hooks.
type seats struct{ *pulse.Service }

// Seat implements hook.Sessions.
func (s seats) Seat(c identity.Caller, address string) ([]*store.Fetch, func() hook.Seat) {
	fetches, read := s.Service.Seat(address)
	return fetches, func() hook.Seat { return s.seat(c, address, read()) }
}

func (s seats) seat(c identity.Caller, address string, v pulse.Seat) hook.Seat {
	return hook.Seat{
		Address: address,
		Found:   v.Found,
		Live:    v.Found && v.Session.Live(),
		Mine:    v.Mine(c),
		State:   string(v.Session.State),
		Doing:   v.Session.Status,
		Began:   v.Session.CreatedAt,
		Heard:   v.Heard,
		Beat:    func(tx *store.Tx, doing string) { s.Beat(tx, v, doing) },
	}
}

// Join implements hook.Sessions.
func (s seats) Join(
	ctx context.Context, tx *store.Tx, c identity.Caller, in hook.Joining,
) (hook.Seat, func(), error) {
	create := pulse.CreateInput{Name: in.Name, SessionID: in.Address, State: pulse.Working}
	if in.Doing != "" {
		create.Status = &in.Doing
	}
	if in.Project != "" {
		create.ProjectName = &in.Project
	}
	out, write, err := s.Service.Join(ctx, tx, c, create)
	return hook.Seat{Address: out.Address, Began: out.CreatedAt}, write, err
}

// Names implements hook.Sessions.
func (seats) Names(address string) []string { return pulse.Names(address) }

// letters is the mail of clients' hooks.
type letters struct{ *relay.Service }

func letter(d store.Doc[relay.Message]) hook.Letter {
	m := d.Value
	return hook.Letter{
		ID:       d.ID,
		From:     m.From(),
		Source:   m.Source,
		Verified: m.Verified,
		Human:    m.Sender.Human,
		System:   m.Sender == (identity.Owner{}) && m.Verified,
		Again:    m.Again || m.Deliveries > 0, // one that wants an acknowledgement comes until it has one
		Target:   m.Target,
		Type:     m.Type,
		Priority: string(m.Priority),
		Text:     m.Text,
		ThreadID: m.ThreadID,
		ReplyTo:  m.ReplyTo,
		At:       m.CreatedAt,
		Urgent:   m.WantsAck() || m.Priority.Rank() > 1,
	}
}

func lettersOf(docs []store.Doc[relay.Message]) []hook.Letter {
	out := make([]hook.Letter, len(docs))
	for i, d := range docs {
		out[i] = letter(d)
	}
	return out
}

// Due implements hook.Mail.
func (l letters) Due(ctx context.Context, r store.Reader, inboxes []string, limit int) ([]hook.Letter, error) {
	docs, err := l.Service.Due(ctx, r, inboxes, limit)
	return lettersOf(docs), err
}

// Hand implements hook.Mail.
func (l letters) Hand(c identity.Caller, inboxes []string, receipt, next string) hook.Handing {
	return handing{l.Service.Hand(c, inboxes, receipt, next)}
}

type handing struct{ *relay.Handing }

// Read implements hook.Handing.
func (h handing) Read(
	ctx context.Context, tx *store.Tx, width int, wanted func(hook.Letter) bool,
) ([]hook.Letter, error) {
	docs, err := h.Handing.Read(ctx, tx, width, func(d store.Doc[relay.Message]) bool { return wanted(letter(d)) })
	return lettersOf(docs), err
}

// givenBack gives the claims of ended sessions back.
type givenBack struct{ *dispatch.Service }

// Release implements hook.Claims.
func (g givenBack) Release(ctx context.Context, c identity.Caller, taskID string, token int64, reason string) error {
	_, err := g.Service.Release(ctx, c, dispatch.ReleaseInput{TaskID: taskID, ClaimToken: token, Reason: reason})
	return err
}

// edits decides about the edits of clients.
type edits struct{ *files.Service }

// Decide implements hook.Files.
func (e edits) Decide(ctx context.Context, c identity.Caller, in hook.Edit) (wire.Files, error) {
	d, err := e.Service.Decide(ctx, c, files.Edit(in))
	return wire.Files{Verdict: string(d.Verdict), Reason: d.Reason, Auto: d.Settings.Auto, Strict: d.Settings.Strict,
		Reserved: d.Reserved}, err
}

// Changed implements hook.Files.
func (e edits) Changed(ctx context.Context, c identity.Caller, in hook.Edit) ([]string, error) {
	return e.Service.Changed(ctx, c, files.Edit(in))
}

// Held implements hook.Files.
func (e edits) Held(ctx context.Context, c identity.Caller, project string) (map[string][]string, error) {
	list, err := e.List(ctx, c, files.ListInput{Project: project})
	held := map[string][]string{}
	for _, v := range list.Reservations {
		address := identity.Fold(identity.Address(v.Holder, v.SessionID))
		held[address] = append(held[address], v.Pattern)
	}
	return held, err
}

// spending counts the usage of clients.
type spending struct{ *ledger.Service }

// Observe implements hook.Ledger.
func (s spending) Observe(ctx context.Context, c identity.Caller, sessionID string, usage []wire.Usage) error {
	all := make([]ledger.Observation, len(usage))
	for i, u := range usage {
		all[i] = ledger.Observation{ID: u.ID, Model: u.Model, SessionID: sessionID, TaskID: u.TaskID, TokensIn: u.TokensIn,
			TokensOut: u.TokensOut, TokensCached: u.TokensCached, CostUSD: u.CostUSD}
	}
	_, err := s.Service.Observe(ctx, c, all)
	return err
}

// halts are the pauses that hooks tell.
type halts struct {
	*pauses.Service
	cached *perUser[[]identity.Pause]
}

// Known implements hook.Pauses.
func (h halts) Known(ctx context.Context, user string) ([]identity.Pause, error) {
	return h.cached.get(ctx, user)
}

// Wait implements hook.Pauses.
func (h halts) Wait(
	ctx context.Context, user string, d time.Duration, check func(context.Context) (bool, error),
) error {
	return h.Follow(ctx, user, d, check)
}
