package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// observed is the transport in entries that come from the records of clients and not from calls.
const observed = "observed"

// Observation is a record of a client about one call of a model.
type Observation struct {
	// ID is the record's own. The observations of a program, or of an unbound key, with one id are one.
	ID, Model, SessionID, TaskID      string
	TokensIn, TokensOut, TokensCached int64
	CostUSD                           float64
}

// sighting marks an observation that was counted.
type sighting struct {
	PurgeAt time.Time `json:"purgeAt"`
}

var sightings = store.Collection[sighting]{Name: "ledgerSeen", PartOf: "a record of a client"}

// remembered is the time for which an observation is not counted again.
const remembered = 90 * 24 * time.Hour

// Observe records the observations of clients, each once, however often and by whom it is reported. It returns the
// number of new ones. An observation is a record of the tool "model:" and its model, over the transport "observed"; it
// counts as no call.
func (s *Service) Observe(ctx context.Context, c identity.Caller, all []Observation) (fresh int, err error) {
	now := s.Now()
	ids, records := identify(c, all, now)
	if len(ids) == 0 {
		return 0, nil
	}
	err = s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		seen, fetches := make([]sighting, len(ids)), make([]*store.Fetch, 0, 2*len(ids))
		for i, id := range ids {
			fetches = append(fetches, sightings.Fetch(id, &seen[i]))
		}
		days := tally(records, s.Shard)
		before := make([]Daily, len(days))
		for i, d := range days {
			fetches = append(fetches, dailies.Fetch(d.id(), &before[i]))
		}
		if err := store.Load(ctx, tx, fetches...); err != nil {
			return err
		}
		var unseen []Record
		for i, id := range ids {
			if !fetches[i].Found {
				unseen = append(unseen, records[i])
				sightings.Put(tx, id, sighting{PurgeAt: now.Add(remembered)})
			}
		}
		if fresh = len(unseen); fresh == 0 {
			return nil
		}
		doc, err := batchOf(unseen)
		if err != nil {
			return err
		}
		batches.Create(tx, s.NewID(), doc)
		for _, d := range tally(unseen, s.Shard) {
			i := slices.IndexFunc(days, func(other Daily) bool { return other.id() == d.id() })
			dailies.Put(tx, d.id(), d.plus(before[i]))
		}
		return nil
	})
	if err != nil {
		return 0, fault.From(err)
	}
	return fresh, nil
}

// identify returns the records of observations with the ids of their documents. Of several with one id it has the first.
func identify(c identity.Caller, all []Observation, now time.Time) (ids []string, records []Record) {
	for _, o := range all {
		sum := sha256.Sum256([]byte(c.Actor() + "\x00" + o.ID))
		id := hex.EncodeToString(sum[:16])
		if slices.Contains(ids, id) {
			continue
		}
		ids = append(ids, id)
		records = append(records, Record{Tool: "model:" + o.Model, Transport: observed, ProgramID: c.Program,
			KeyID: first(keyIDLen, c.KeyID), SessionID: first(sessionLen, o.SessionID), TaskID: o.TaskID, Success: true,
			TokensIn: o.TokensIn, TokensOut: o.TokensOut, TokensCached: o.TokensCached, CostUSD: o.CostUSD, At: now})
	}
	return ids, records
}
