package council

// Counts holds the sizes of a council.
type Counts struct {
	Participants int   `json:"participants"`
	Pending      int   `json:"pending"`
	Responses    int64 `json:"responses"`
	Rankings     int   `json:"rankings,omitempty"`
}

// State is the summary of a council for one caller. If nothing has changed since the caller's cursor, only the
// status and the counts are set.
type State struct {
	SessionID           string      `json:"session_id,omitempty"`
	RequestID           string      `json:"request_id,omitempty"`
	Status              Status      `json:"status,omitempty" jsonschema:"active or closed; none where there is no council"`
	Counts              Counts      `json:"counts"`
	Participants        []string    `json:"participants,omitzero" jsonschema:"left out, as what follows, where nothing changed since the cursor"`
	PendingParticipants []string    `json:"pending_participants,omitzero" jsonschema:"joined, not yet answered; without you and the opener"`
	Ranking             []Standing  `json:"ranking,omitempty" jsonschema:"the responses that peers rank best"`
	Conclusion          *Conclusion `json:"conclusion,omitempty"`
	Reason              string      `json:"reason,omitempty" jsonschema:"why it was closed without a conclusion"`
	Others              []Other     `json:"others,omitempty" jsonschema:"other active councils: you gave no session_id and got the newest"`
}

// Other is an active council beside the one that a call was given because it named none.
type Other struct {
	SessionID string `json:"session_id"`
	CreatedBy string `json:"created_by"`
	Title     string `json:"title" jsonschema:"how its request begins"`
}

// brief returns the status and the counts, for a caller that has the rest.
func (s *Session) brief(asking string) State {
	return State{
		Status: s.Status,
		Counts: Counts{
			Participants: len(s.Members),
			Pending:      len(s.Pending(asking)),
			Responses:    s.Responses,
			Rankings:     s.Rankings,
		},
	}
}

// state returns the whole summary.
func (s *Session) state(asking string) State {
	out := s.brief(asking)
	out.SessionID, out.RequestID = s.ID, s.RequestID
	out.Participants, out.PendingParticipants = make([]string, len(s.Members)), s.Pending(asking)
	for i, m := range s.Members {
		out.Participants[i] = m.Name
	}
	out.Ranking, out.Conclusion, out.Reason, out.Others = s.Ranking, s.Conclusion, s.Reason, s.others
	return out
}

// noState returns the summary of no council.
func noState() State { return State{Participants: []string{}, PendingParticipants: []string{}} }
