package usage

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"parley.internal/shared/hook/wire"
)

// claudeLine is a line of Claude Code's transcript.
type claudeLine struct {
	Type    string `json:"type"`
	Session string `json:"sessionId"`
	At      string `json:"timestamp"`
	// From is where a line was copied from.
	From    json.RawMessage `json:"forkedFrom"`
	Message struct {
		ID    string `json:"id"`
		Model string `json:"model"`
		Usage *struct {
			In     int64 `json:"input_tokens"`
			Made   int64 `json:"cache_creation_input_tokens"`
			Cached int64 `json:"cache_read_input_tokens"`
			Out    int64 `json:"output_tokens"`
		} `json:"usage"`
	} `json:"message"`
	Cost *float64 `json:"totalCostUSD"`
}

func claude(line []byte, at *Position) (wire.Usage, bool) {
	var l claudeLine
	if json.Unmarshal(line, &l) != nil {
		return wire.Usage{}, false
	}
	copied := l.copied(at)
	if l.Type == "cost-state" && !at.Agent && l.Cost != nil && *l.Cost > at.Cost && *l.Cost < 1e6 {
		u := wire.Usage{ID: l.cost(*at), CostUSD: *l.Cost - at.Cost}
		at.Cost = *l.Cost
		return u, !copied
	}
	m := l.Message
	if l.Type != "assistant" || m.Usage == nil || !fit(m.ID) || m.Model == "<synthetic>" {
		return wire.Usage{}, false
	}
	at.Last = m.ID
	if copied {
		return wire.Usage{}, false
	}
	u := m.Usage
	return checked(wire.Usage{ID: m.ID, Model: m.Model, TokensIn: u.In + u.Made, TokensOut: u.Out, TokensCached: u.Cached})
}

// copied reports whether a line is known to be a copy out of the record of the session that this one was forked off.
func (l claudeLine) copied(at *Position) bool {
	if len(l.From) > 0 && string(l.From) != "null" {
		return true
	}
	if t, err := time.Parse(time.RFC3339, l.At); err == nil && !t.Before(at.Forked) {
		at.Own = true
	}
	return !at.Forked.IsZero() && !at.Own
}

// cost returns the id of a line with the dollars so far. A copy of the line in the record of a fork has the same, whose
// session and place in the file are others: it goes by the call of a model before it.
func (l claudeLine) cost(at Position) string {
	if at.Last == "" {
		return fmt.Sprintf("cost/%.100s/%d", l.Session, at.Offset)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%g", at.Last, *l.Cost))
	return "cost/" + hex.EncodeToString(sum[:16])
}
